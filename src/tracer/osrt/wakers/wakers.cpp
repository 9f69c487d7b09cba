#include "tracer/osrt/wakers/wakers.h"

#include "tracer/core/config.h"
#include "tracer/osrt/wrappers.h"
#include "tracer/store/caller_stack.h"
#include "tracer/store/clock.h"
#include "tracer/store/thread_log.h"
#include "tracer/system/system_calls.h"

namespace gprof::tracer {

constinit WaitPlace wait_places[1u << kWaitPlaceBits];

namespace {

Waker WakerIn(uint64_t packed) { return {static_cast<uint32_t>(packed >> 32), static_cast<uint32_t>(packed)}; }

// A wait has a stack of its end where it is recorded and would have one of its begin.
uint64_t StackIsDue(const ThreadLog* log, uint64_t start_stamp) {
  const bool launches = log != nullptr && HasLaunched(*log);
  const uint64_t least = (launches ? os_thresholds.launching : os_thresholds.other).load(std::memory_order_relaxed);
  const uint64_t stacks = os_thresholds.stacks.load(std::memory_order_relaxed);
  const uint64_t stamps = least > stacks ? least : stacks;
  return stamps < kNever - start_stamp ? start_stamp + stamps : kNever;
}

// Two that begin at once may leave the later of the two: then a wait has no stack.
void NoteDue(WaitPlace* place, uint64_t due) {
  if (due < place->stack_is_due.load(std::memory_order_relaxed))
    place->stack_is_due.store(due, std::memory_order_relaxed);
}

void BeginAnew(WaitPlace* place, uint64_t due) {
  place->waker.store(0, std::memory_order_relaxed);
  for (auto& waker : place->of_threads) waker.store(0, std::memory_order_relaxed);
  place->stack_is_due.store(due, std::memory_order_relaxed);
}

// One for each time of that length at most, so that a lock that many threads wait for all the time is held no longer
// for it.
bool TakesStack(WaitPlace* place) {
  const uint64_t now = Stamp();
  if (now < place->stack_is_due.load(std::memory_order_relaxed)) return false;
  place->stack_is_due.store(StackIsDue(nullptr, now), std::memory_order_relaxed);
  return os_thresholds.is_on.load(std::memory_order_relaxed);
}

// From the return address of this frame on; those of the tracer are left out. It may be within a handler of a signal.
uint32_t StackOf(ThreadLog* log, [[maybe_unused]] const void* frame) {
#ifdef __x86_64__
  const auto* const saved = static_cast<const uintptr_t*>(frame);
  const CallerFrame caller{saved[1], reinterpret_cast<uintptr_t>(frame) + 2 * sizeof(uintptr_t), saved[0]};
  return NativeStack(log, caller, {Config().osrt_stack_frames, Config().osrt_stack_bytes}, kPythonBehindWalk);
#else
  return 0;
#endif
}

}  // namespace

// Two that begin at the same moment for two things may share a place for that time: one may then be told of the waker
// of the other, which is why places are many.
WaitPlace* BeginWait(uintptr_t address, const ThreadLog* log, uint64_t start_stamp) {
  WaitPlace* const place = WaitPlaceOf(address);
  const uint64_t due = StackIsDue(log, start_stamp);
  if (place->address.load(std::memory_order_relaxed) != address) {
    uint32_t none = 0;
    if (!place->waiters.compare_exchange_strong(none, 1, std::memory_order_acq_rel)) return nullptr;
    BeginAnew(place, due);
    place->address.store(address, std::memory_order_release);
    return place;
  }
  if (place->waiters.fetch_add(1, std::memory_order_acq_rel) == 0) {
    BeginAnew(place, due);
  } else {
    NoteDue(place, due);
  }
  return place;
}

Waker EndWait(WaitPlace* place, uint32_t holder_tid) {
  const auto& wanted = holder_tid == 0 ? place->waker : place->of_threads[holder_tid % WaitPlace::kThreads];
  const Waker waker = WakerIn(wanted.load(std::memory_order_acquire));
  place->waiters.fetch_sub(1, std::memory_order_acq_rel);
  return holder_tid == 0 || holder_tid == waker.tid ? waker : Waker{holder_tid, 0};
}

void LeaveName(WaitPlace* place) {
  ThreadLog* log = own_log;
  uint32_t stack = 0;
  if (TakesStack(place)) {
    if (log == nullptr) log = AcquireLogWithinCall(true);
    // As in WriteCall(): children that share their parent's memory write no rows.
    if (log != nullptr && log->tid == CurrentTid()) stack = StackOf(log, __builtin_frame_address(0));
  }
  const uint32_t tid = log != nullptr ? log->tid : CurrentTid();
  const Waker before = WakerIn(place->waker.load(std::memory_order_relaxed));
  if (stack == 0 && before.tid == tid) stack = before.stack;  // of the same thread, a moment ago
  const uint64_t waker = uint64_t{tid} << 32 | stack;
  place->of_threads[tid % WaitPlace::kThreads].store(waker, std::memory_order_release);
  place->waker.store(waker, std::memory_order_release);
}

void ForgetWaits() {
  for (WaitPlace& place : wait_places) {
    place.waiters.store(0, std::memory_order_relaxed);
    place.address.store(0, std::memory_order_relaxed);
  }
}

}  // namespace gprof::tracer
