// The time of day, by the clock records of a trace.
#pragma once

#include <cstdint>
#include <optional>

#include "gprof/trace.h"

namespace gprof {

// The most exact reading of the clock of the trace and of the time of day together; none where there is no good one.
inline std::optional<trace::ClockRecord> BestClock(const Trace& trace) {
  constexpr uint64_t kMostNs = uint64_t{1} << 62;
  std::optional<trace::ClockRecord> best;
  for (const Clock& clock : trace.clocks) {
    const trace::ClockRecord& a = clock.anchor;
    if (a.monotonic_ns == 0 || a.realtime_ns == 0 || a.monotonic_ns > kMostNs || a.realtime_ns > kMostNs) continue;
    if (!best || a.uncertainty_ns < best->uncertainty_ns) best = a;
  }
  return best;
}

}  // namespace gprof
