// The counters that were sampled of a device.
#pragma once

#include <cstdint>
#include <string_view>

#include "gprof/trace.h"

namespace gprof {

// How far from the truth the times of its samples may be, either way: GPM tells what it counted up to 0.1 s ago.
int64_t ClockErrorNs(const Trace& trace, const MetricSource& source);

// f(index) for the sources of a device that have samples.
template <class F>
void ForEachSourceOf(const Trace& trace, uint32_t device, F&& f) {
  for (uint32_t i = 0; i < trace.metric_sources.size(); ++i) {
    const MetricSource& source = trace.metric_sources[i];
    const bool is_of_it = source.scope == trace::MetricScope::kDevice && source.device == device;
    if (is_of_it && !trace.SamplesOf(i).empty()) f(i);
  }
}

inline bool HasSource(const Trace& trace, uint32_t device) {
  bool has_one = false;
  ForEachSourceOf(trace, device, [&](uint32_t) { has_one = true; });
  return has_one;
}

// The source of a device by its name and unit; of several, counters that the monitors took before those of GPM and
// NVML. kNone: there is none.
uint32_t FindSource(const Trace& trace, uint32_t device, std::string_view name, std::string_view unit);

}  // namespace gprof
