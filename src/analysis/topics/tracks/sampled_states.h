// In which state something was while it was sampled: a sample is of a state that took nearly all of its time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/topics/tracks/metric_samples.h"
#include "gprof/trace.h"

namespace gprof {

struct StateInterval {
  int64_t start_ns = 0, end_ns = 0;
  uint32_t state = 0;
};

// Fewer samples than this say nothing of a state.
inline constexpr int64_t kFewestSamples = 5;

// For each of the samples, which come by start, the state that took at least nine tenths of it while no other took more
// than a tenth; kNone where there is none. A sample without a length is of the state at that moment. `intervals` come
// by start and may overlap. Where the times of samples may be wrong by `clock_error_ns`, that much before and after it
// has to be of the state as well.
std::vector<uint32_t> StatesOf(std::span<const MetricSample> samples, std::span<const StateInterval> intervals,
                               uint32_t state_count, int64_t clock_error_ns = 0);

// Of the samples of each state.
std::vector<SampleStatistics> StatisticsOfStates(const MetricSource& source, std::span<const MetricSample> samples,
                                                 std::span<const uint32_t> states, uint32_t state_count);
inline bool SaysSomething(const SampleStatistics& statistics) { return statistics.count >= kFewestSamples; }

}  // namespace gprof
