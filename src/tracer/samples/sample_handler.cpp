#include "tracer/samples/sample_handler.h"

#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "tracer/samples/sampled_threads.h"
#include "tracer/system/system_calls.h"

// The kernel has handlers return to this on x86-64. Debuggers know the way back from a signal by these bytes.
#ifdef __x86_64__
extern "C" __attribute__((visibility("hidden"))) void GprofReturnFromSignal();
__asm__(
    ".text\n.balign 16\n.hidden GprofReturnFromSignal\n.type GprofReturnFromSignal, @function\n"
    "GprofReturnFromSignal:\n  mov $15, %rax\n  syscall\n.size GprofReturnFromSignal, . - GprofReturnFromSignal\n");
#endif

namespace gprof::tracer {

constinit std::atomic<trace::SampleRing*> sample_ring{nullptr};

namespace {

// As the kernel has it.
struct KernelAction {
  void* handler = nullptr;
  unsigned long flags = 0;
  void* restorer = nullptr;
  uint64_t mask = 0;
};

constexpr uintptr_t kPageBytes = 4096;
constexpr unsigned long kHasRestorer = 0x04000000;
char sample_mark;

bool Action(const KernelAction* set, KernelAction* before) {
  return syscall(SYS_rt_sigaction, kSampleSignal, set, before, sizeof set->mask) == 0;
}

// A loop that stays one: memcpy may be a sanitizer's, to whom parts of a stack are off limits.
void Copy(uint64_t* to, const uint64_t* from, uint32_t words) {
  for (uint32_t i = 0; i < words; ++i) {
    to[i] = from[i];
    __asm__ volatile("" ::: "memory");
  }
}

// As many of the bytes as may be read, whatever the stack pointer points to.
uint32_t ReadableBytes(uintptr_t begin, uint32_t most) {
  uintptr_t end = begin;
  while (end < begin + most && CanReadWord(reinterpret_cast<const void*>(end))) end = (end | (kPageBytes - 1)) + 1;
  return static_cast<uint32_t>((end < begin + most ? end : begin + most) - begin);
}

uintptr_t TakeRegisters(const ucontext_t& context, trace::SampleSlot* slot) {
#if defined(__x86_64__)
  static constexpr int kOrder[] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8,
                                   REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};
  uint32_t count = 0;
  for (const int number : kOrder) slot->values[count++] = static_cast<uint64_t>(context.uc_mcontext.gregs[number]);
  slot->registers = count;
  return slot->values[7];
#elif defined(__aarch64__)
  constexpr uint32_t kGeneral = 31;
  Copy(slot->values, reinterpret_cast<const uint64_t*>(context.uc_mcontext.regs), kGeneral);
  slot->values[kGeneral] = context.uc_mcontext.sp;
  slot->values[kGeneral + 1] = context.uc_mcontext.pc;
  slot->registers = kGeneral + 2;
  return context.uc_mcontext.sp;
#else
  slot->registers = 0;
  return 0;
#endif
}

void WriteSample(trace::SampleRing* ring, uint64_t weight_ns, uint32_t tid, const ucontext_t& context) {
  const uint64_t number = ring->next.fetch_add(1, std::memory_order_relaxed);
  auto* const slots = reinterpret_cast<unsigned char*>(ring + 1);
  auto* const slot = reinterpret_cast<trace::SampleSlot*>(slots + number % ring->slots * ring->slot_bytes);
  uint64_t turn = slot->turn.load(std::memory_order_relaxed);
  // Another thread was stopped while it wrote here, and all slots have been used since.
  const bool is_taken = turn % 2 != 0 || !slot->turn.compare_exchange_strong(turn, trace::TurnOf(number, false),
                                                                             std::memory_order_acquire);
  if (is_taken) {
    ring->lost.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  std::atomic_thread_fence(std::memory_order_release);
  unsigned cpu = 0;
  syscall(SYS_getcpu, &cpu, nullptr, nullptr);
  slot->time_ns = MonotonicNs();
  slot->weight_ns = weight_ns;
  slot->tid = tid;
  slot->cpu = cpu + 1;
  const uintptr_t stack = TakeRegisters(context, slot);
  const uint32_t room = ring->slot_bytes - static_cast<uint32_t>(sizeof *slot);
  slot->stack_bytes = ReadableBytes(stack, room);
  Copy(reinterpret_cast<uint64_t*>(slot + 1), reinterpret_cast<const uint64_t*>(stack), slot->stack_bytes / 8);
  slot->turn.store(trace::TurnOf(number, true), std::memory_order_release);
}

void OnSignal(int, siginfo_t* info, void* context) {
  if (info->si_code != SI_TIMER || info->si_value.sival_ptr != &sample_mark) return;
  const ErrnoGuard errno_guard;
  uint32_t tid = 0;
  uint64_t weight_ns = 0;
  trace::SampleRing* const ring = sample_ring.load(std::memory_order_acquire);
  if (!TakeOwnTime(&tid, &weight_ns) || ring == nullptr) return;
  WriteSample(ring, weight_ns, tid, *static_cast<const ucontext_t*>(context));
}

}  // namespace

void* SampleMark() { return &sample_mark; }

// All signals wait for the handler to be done: one of the program's may leave by longjmp. What the kernel interrupted
// goes on by itself.
bool SetHandler() {
  KernelAction before;
  if (!Action(nullptr, &before) || before.handler != nullptr) return false;
  KernelAction ours;
  ours.handler = reinterpret_cast<void*>(&OnSignal);
  ours.flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
#ifdef __x86_64__
  ours.flags |= kHasRestorer;
  ours.restorer = reinterpret_cast<void*>(&GprofReturnFromSignal);
#endif
  ours.mask = ~uint64_t{0};
  return Action(&ours, nullptr);
}

bool HandlerIsSet() {
  KernelAction now;
  return Action(nullptr, &now) && now.handler == reinterpret_cast<void*>(&OnSignal);
}

void TakeHandlerBack() {
  const KernelAction usual;
  if (HandlerIsSet()) Action(&usual, nullptr);
}

}  // namespace gprof::tracer
