// The thread's own registers and stack at moments that nobody chose: when a timer's signal comes.
#pragma once

#include <signal.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "unwind/unwinder.h"

namespace gprof {

// Of the first thread, as the program began: the environment is put elsewhere when it grows.
inline const uintptr_t stack_top = reinterpret_cast<uintptr_t>(environ);

#ifdef __aarch64__
inline uint64_t PcOf(const ucontext_t& context) { return context.uc_mcontext.pc; }
inline uint64_t SpOf(const ucontext_t& context) { return context.uc_mcontext.sp; }

inline Registers RegistersOf(const ucontext_t& context) {
  constexpr uint32_t kNumbered = 31, kPc = 32;
  Registers registers;
  for (uint32_t i = 0; i < kNumbered; ++i) registers.Set(i, context.uc_mcontext.regs[i]);
  registers.Set(kStackPointer, SpOf(context));
  registers.Set(kPc, PcOf(context));
  registers.pc = PcOf(context);
  return registers;
}
#else
inline uint64_t PcOf(const ucontext_t& context) { return static_cast<uint64_t>(context.uc_mcontext.gregs[REG_RIP]); }
inline uint64_t SpOf(const ucontext_t& context) { return static_cast<uint64_t>(context.uc_mcontext.gregs[REG_RSP]); }

inline Registers RegistersOf(const ucontext_t& context) {
  static constexpr int kOrder[] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8,
                                   REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};
  Registers registers;
  for (uint32_t i = 0; i < kRegisters; ++i) {
    registers.Set(i, static_cast<uint64_t>(context.uc_mcontext.gregs[kOrder[i]]));
  }
  registers.pc = PcOf(context);
  return registers;
}
#endif

struct Snapshot {
  ucontext_t context;
  std::size_t bytes = 0;
  unsigned char stack[512 << 10];

  uint64_t pc() const { return PcOf(context); }
  uint64_t sp() const { return SpOf(context); }
  StackCopy Copy() const { return {sp(), {stack, bytes}}; }
};
// One after another, as many as are wanted.
inline constexpr int kMostSnapshots = 8;
inline Snapshot snapshots[kMostSnapshots];
inline std::atomic<int> snapshots_wanted{0}, snapshots_taken{0};
inline void (*also_in_handler)() = nullptr;

inline void OnSignal(int, siginfo_t*, void* context) {
  const int number = snapshots_taken;
  if (number >= snapshots_wanted) return;
  Snapshot& snapshot = snapshots[number];
  std::memcpy(&snapshot.context, context, sizeof snapshot.context);
  snapshot.bytes = std::min<std::size_t>(sizeof snapshot.stack, stack_top - snapshot.sp());
  std::memcpy(snapshot.stack, reinterpret_cast<const void*>(snapshot.sp()), snapshot.bytes);
  if (also_in_handler != nullptr) also_in_handler();
  snapshots_taken = number + 1;
}

// How many were taken while `work` ran, of as many as are wanted.
template <class Work>
int TakeSnapshots(int wanted, const Work& work) {
  snapshots_taken = 0;
  snapshots_wanted = wanted;
  work();
  snapshots_wanted = 0;
  return snapshots_taken;
}

class TimerSignals {
 public:
  TimerSignals() {
    struct sigaction action = {};
    action.sa_sigaction = OnSignal;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    sigaction(SIGPROF, &action, nullptr);
    sigevent event = {};
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGPROF;
    timer_create(CLOCK_MONOTONIC, &event, &timer_);
    const itimerspec every = {{0, 177'000}, {0, 177'000}};
    timer_settime(timer_, 0, &every, nullptr);
  }
  ~TimerSignals() {
    timer_delete(timer_);
    signal(SIGPROF, SIG_IGN);
  }

 private:
  timer_t timer_;
};

}  // namespace gprof
