// In which state something was while it was sampled: a sample is of a state that took nearly all of its time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

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
// by start and may overlap.
std::vector<uint32_t> StatesOf(std::span<const MetricSample> samples, std::span<const StateInterval> intervals,
                               uint32_t state_count);

// The mean of the samples of each state, by their time, in the unit of the source.
struct StateMean {
  int64_t samples = 0;
  double mean = 0;
  bool SaysSomething() const { return samples >= kFewestSamples; }
};
std::vector<StateMean> MeansOf(const MetricSource& source, std::span<const MetricSample> samples,
                               std::span<const uint32_t> states, uint32_t state_count);

}  // namespace gprof
