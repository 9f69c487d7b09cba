// Who ends waits: threads that wait note on what, and who signals a condition or posts a semaphore that somebody waits
// for leaves its name there, with its stack where a call that took as long as the wait has one. Where nobody waits,
// that costs a load.
#pragma once

#include <atomic>
#include <cstdint>

namespace gprof::tracer {

class ThreadLog;

struct WaitPlace {
  std::atomic<uintptr_t> address{0};
  std::atomic<uint32_t> waiters{0};
  std::atomic<uint64_t> stack_is_due{0};  // the stamp from which the wait is worth a stack of whoever ends it
  std::atomic<uint64_t> waker{0};         // the last one: tid << 32 | stack
  // Likewise of each thread: a lock goes through many hands before who waits for it has it.
  static constexpr uint32_t kThreads = 8;
  std::atomic<uint64_t> of_threads[kThreads] = {};
};

struct Waker {
  uint32_t tid = 0, stack = 0;  // 0: not known
};

inline constexpr uint32_t kWaitPlaceBits = 9;
extern constinit WaitPlace wait_places[1u << kWaitPlaceBits];

inline WaitPlace* WaitPlaceOf(uintptr_t address) {
  return &wait_places[address * 0x9E3779B97F4A7C15u >> (64 - kWaitPlaceBits)];
}

// Null where the place is taken by something else. A wait that is never left (a cancelled thread) keeps its place.
WaitPlace* BeginWait(uintptr_t address, const ThreadLog* log, uint64_t start_stamp);
// The thread that woke somebody there last or, where a thread had the lock when the wait began, that one.
Waker EndWait(WaitPlace* place, uint32_t holder_tid);

void LeaveName(WaitPlace* place);

inline void NoteWake(uintptr_t address) {
  WaitPlace* const place = WaitPlaceOf(address);
  if (__builtin_expect(place->address.load(std::memory_order_relaxed) != address, 1)) return;
  if (place->waiters.load(std::memory_order_relaxed) != 0) LeaveName(place);
}

// [child of a fork] Nobody waits.
void ForgetWaits();

}  // namespace gprof::tracer
