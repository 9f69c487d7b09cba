// How well the clocks of a trace agree: host, time stamp counter, CUPTI, GPU.
#pragma once

#include <cstdint>
#include <optional>

#include "gprof/trace.h"

namespace gprof {

// Readings of a process were interpolated when it was recorded. The residual of a reading is its distance from the line
// between the readings before and after it: what interpolating over twice the distance would have been wrong by.
struct ClockQuality {
  int64_t host_readings = 0, cupti_readings = 0;
  int64_t read_within_ns = 0;     // widest bracket that the clocks of the host were read in
  int64_t tsc_residual_ns = 0;    // largest; 0 where the time stamp counter is not used
  int64_t cupti_residual_ns = 0;  // largest
  double cupti_drift_ppm = 0;  // of CUPTI's clock against the host's from first to last reading; largest of any process
  int64_t early_ns = 0;        // by how much an operation started before its call, at most
  // False without readings: nothing is known.
  bool IsKnown() const { return host_readings + cupti_readings > 0; }
  // Times of host and GPU are right to this, as far as the trace shows.
  int64_t AgreeNs() const;
};

ClockQuality QualityOfClocks(const Trace& trace);

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
