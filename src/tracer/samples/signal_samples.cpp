#include "tracer/samples/signal_samples.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>

#include <cstring>
#include <new>

#include "tracer/capture/capture.h"
#include "tracer/core/config.h"
#include "tracer/core/notice.h"
#include "tracer/imports/import_slots.h"
#include "tracer/samples/sample_handler.h"
#include "tracer/samples/sampled_threads.h"
#include "tracer/store/memory/arena.h"
#include "tracer/system/system_calls.h"

namespace gprof::tracer {
namespace {

// The reader comes every 10 ms, and a thread takes no more than four samples in that time.
constexpr uint32_t kRingBytes = 4u << 20, kMostSlots = 512;

// Nothing is done with the signal before the functions that have to do with it are led to us.
enum class State : uint32_t { kOff, kWaiting, kOn, kHandledByProgram };
constinit std::atomic<State> state{State::kOff};
constinit trace::SampleRing* ring = nullptr;

WrapTarget action_target, signal_target, thread_mask_target, mask_target;

// The program is about to say what the signal does: it finds everything as if we had not been there.
void LeaveSignalToProgram() {
  State on = State::kOn;
  if (!state.compare_exchange_strong(on, State::kHandledByProgram, std::memory_order_acq_rel)) return;
  sample_ring.store(nullptr, std::memory_order_release);
  ForgetSampledThreads();
  const ErrnoGuard errno_guard;
  TakeHandlerBack();
}

bool IsOurs(int number) { return number == kSampleSignal && state.load(std::memory_order_acquire) == State::kOn; }

int OnSigaction(int number, const struct sigaction* action, struct sigaction* before) {
  if (__builtin_expect(IsOurs(number), 0)) {
    if (action == nullptr) {
      if (before != nullptr) *before = {};  // as it was: SIG_DFL
      return 0;
    }
    LeaveSignalToProgram();
  }
  return reinterpret_cast<decltype(&sigaction)>(action_target.real)(number, action, before);
}

sighandler_t OnSetSignal(int number, sighandler_t handler) {
  if (__builtin_expect(IsOurs(number), 0)) LeaveSignalToProgram();
  return reinterpret_cast<decltype(&signal)>(signal_target.real)(number, handler);
}

// Whoever blocks the signal may wait for it next.
int ChangeMask(const WrapTarget& target, int how, const sigset_t* set, sigset_t* before) {
  auto* const real = reinterpret_cast<int (*)(int, const sigset_t*, sigset_t*)>(target.real);
  const bool may_matter = set != nullptr && state.load(std::memory_order_acquire) == State::kOn && IsOwnThreadSampled();
  if (!may_matter) return real(how, set, before);
  if (how != SIG_UNBLOCK && sigismember(set, kSampleSignal) == 1) PauseOwnThread();
  const int result = real(how, set, before);
  const ErrnoGuard errno_guard;
  ResumeOwnThread();
  return result;
}

int OnThreadMask(int how, const sigset_t* set, sigset_t* before) {
  return ChangeMask(thread_mask_target, how, set, before);
}
int OnMask(int how, const sigset_t* set, sigset_t* before) { return ChangeMask(mask_target, how, set, before); }

const WrappedSymbol kWrapped[] = {
    {"sigaction", reinterpret_cast<void*>(&OnSigaction), &action_target},
    {"signal", reinterpret_cast<void*>(&OnSetSignal), &signal_target},
    {"pthread_sigmask", reinterpret_cast<void*>(&OnThreadMask), &thread_mask_target},
    {"sigprocmask", reinterpret_cast<void*>(&OnMask), &mask_target},
};

void WrapSignalFunctions() {
  for (const WrappedSymbol& symbol : kWrapped) {
    if (symbol.target->real == nullptr) symbol.target->real = dlsym(RTLD_DEFAULT, symbol.symbol);
    if (symbol.target->real != nullptr) AddWrapped(symbol);
  }
}

// False: there is no file that somebody else could read it from.
bool MakeRing() {
  const uint32_t slot_bytes = static_cast<uint32_t>(sizeof(trace::SampleSlot)) + Config().sample_stack_bytes;
  const uint32_t fitting = kRingBytes / slot_bytes, slots = fitting < kMostSlots ? fitting : kMostSlots;
  const std::size_t bytes = sizeof(trace::SampleRing) + std::size_t{slots} * slot_bytes;
  void* const at = KeepMemory(bytes, Region::kRows, trace::kRingPageBytes);
  const uint64_t offset = reinterpret_cast<uintptr_t>(at) - Header().base;
  if (at == nullptr || Header().base == 0 || offset >= Header().size_bytes) return false;
  ring = new (at) trace::SampleRing{};
  ring->slots = slots;
  ring->slot_bytes = slot_bytes;
  Header().sample_page.store(static_cast<uint32_t>(offset / trace::kRingPageBytes), std::memory_order_release);
  return true;
}

void SayWhyNot(const char* why) {
  Message message;
  message << "CPU samples are not taken by signals: " << why;
  Say(trace::NoticeLevel::kWarning, message);
}

// In the first round in which slots have been led.
void Begin(const DrainRound& round) {
  if (round.depth == Depth::kReady || round.depth == Depth::kEnd || CapturesAreOver()) return;
  const ErrnoGuard errno_guard;
  const bool has_handler = SetHandler();
  state.store(has_handler ? State::kOn : State::kOff, std::memory_order_release);
  if (!has_handler) SayWhyNot("the program handles SIGURG itself");
}

void End() {
  if (state.exchange(State::kOff, std::memory_order_acq_rel) != State::kOn) return;
  sample_ring.store(nullptr, std::memory_order_release);
  ForgetSampledThreads();
  const ErrnoGuard errno_guard;
  TakeHandlerBack();
}

}  // namespace

void PrepareSignalSamples() {
  if (Config().sample_period_ns == 0) return;
  const ErrnoGuard errno_guard;
  if (!KernelSparesCalls()) return SayWhyNot("this kernel is too old: its timers would interrupt system calls");
  if (!MakeRing()) return SayWhyNot("there is no shared memory");
  WrapSignalFunctions();
  sample_ring.store(IsCapturing() ? ring : nullptr, std::memory_order_release);
  state.store(State::kWaiting, std::memory_order_release);
}

void SwitchSignalSamples(bool on) { sample_ring.store(on ? ring : nullptr, std::memory_order_release); }

void DrainSignalSamples(DrainRound* round) {
  if (state.load(std::memory_order_acquire) == State::kHandledByProgram) {
    state.store(State::kOff, std::memory_order_release);
    SayWhyNot("the program has begun to handle SIGURG itself");
  }
  if (state.load(std::memory_order_acquire) == State::kWaiting) Begin(*round);
  if (state.load(std::memory_order_acquire) != State::kOn) return;
  if (round->depth == Depth::kEnd || CapturesAreOver()) return End();
  // By a way that was not seen.
  if (!HandlerIsSet()) return LeaveSignalToProgram();
  LookForSampledThreads(Config().sample_period_ns);
}

void StopSignalSamples(StopReason why) {
  if (why == StopReason::kThreadsEnd) return End();
  if (why != StopReason::kForked || state.exchange(State::kOff, std::memory_order_relaxed) != State::kOn) return;
  sample_ring.store(nullptr, std::memory_order_relaxed);
  const ErrnoGuard errno_guard;
  TakeHandlerBack();
}

void ResetSignalSamplesAfterFork() {
  ForgetParentsSampledThreads();
  ring = nullptr;
}

}  // namespace gprof::tracer
