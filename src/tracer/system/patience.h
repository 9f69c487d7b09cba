// Waiting for another thread to finish a few instructions. It may be preempted within them, so the processor is given
// away; it may not be there at all (a forked child, a thread that was killed), so the wait has an end.
#pragma once

#include <sched.h>

#include "tracer/system/system_calls.h"

namespace gprof::tracer {

template <class F>
void WaitWhile(F&& is_busy) {
  constexpr uint64_t kPatienceNs = 20'000'000;
  for (const uint64_t end = MonotonicNs() + kPatienceNs; is_busy() && MonotonicNs() < end;) sched_yield();
}

}  // namespace gprof::tracer
