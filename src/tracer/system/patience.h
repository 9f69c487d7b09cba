// Waiting for another thread to finish a few instructions. It may be preempted within them, so the processor is given
// away; it may not be there at all (a forked child, a thread that was killed), so the wait has an end.
#pragma once

#include <sched.h>

#include "tracer/system/system_calls.h"

namespace gprof::tracer {

constexpr uint64_t kPatienceNs = 20'000'000;
// Where going ahead would break what CUPTI believes of the program, for as long as a busy machine preempts a thread.
constexpr uint64_t kLongPatienceNs = 2'000'000'000;

template <class F>
void WaitWhile(F&& is_busy, uint64_t patience_ns = kPatienceNs) {
  for (const uint64_t end = MonotonicNs() + patience_ns; is_busy() && MonotonicNs() < end;) sched_yield();
}

}  // namespace gprof::tracer
