// Levels over time that timelines draw as curves.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gprof/trace.h"

namespace gprof {

// The level from `time_ns` on.
struct CounterPoint {
  int64_t time_ns = 0;
  int64_t value = 0;
};
// The value of a point from which on nothing was measured.
inline constexpr int64_t kNotMeasured = INT64_MIN;

struct Counter {
  uint32_t device = kNone;
  std::string_view name, unit;
  int32_t scale = 0;                      // a value times ten to the power of this is in the unit
  uint32_t metric_source = kNone;         // of samples; levels follow from the events of the trace otherwise
  std::vector<CounterPoint> points = {};  // by time, none twice; only changes

  bool IsBytes() const { return unit == "bytes"; }
};

// Operations of the GPU that run, and those that are launched and not finished.
Counter RunningOps(const Trace& trace, uint32_t device);
Counter QueuedOps(const Trace& trace, uint32_t device);
// Device memory in use, where the trace has memory events of the device; else no points.
Counter MemoryInUse(const Trace& trace, uint32_t device);
// What was sampled. A sample without a length holds until the next one, at most for twice the time between samples.
Counter SampledCounter(const Trace& trace, uint32_t metric_source);
// "SMs Active (%)": names of counters where the unit has no place of its own.
std::string NameWithUnit(const Trace& trace, const MetricSource& source);
// `f(counter)` for every device and every counter that has points, one after the other.
template <class F>
void ForEachCounter(const Trace& trace, F&& f) {
  for (uint32_t device = 0; device < trace.devices.size(); ++device) {
    for (const auto make : {MemoryInUse, RunningOps, QueuedOps}) {
      const Counter counter = make(trace, device);
      if (!counter.points.empty()) f(counter);
    }
  }
}

}  // namespace gprof
