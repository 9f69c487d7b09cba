#include "analysis/facts/serving/thread_places.h"

#include <algorithm>

#include "analysis/facts/shared_facts.h"
#include "gprof/analysis.h"

namespace gprof {

ThreadPlaces::ThreadPlaces(const AnalysisInput& input)
    : trace_(input.trace()), place_of_(trace_, input.shared().python_lines()) {
  for (uint32_t i = 0; i < trace_.os_calls.size(); ++i) {
    if (trace_.os_calls[i].thread != kNone) os_calls_of_[trace_.os_calls[i].thread].push_back(i);
  }
}

std::string ThreadPlaces::MostOf(uint32_t thread, const std::vector<Interval>& times) {
  PlaceSums sums;
  for (const Interval& time : times) {
    AddSamples(thread, time, &sums);
    AddOsCalls(thread, time, &sums);
  }
  return sums.Main();
}

// What waits is known by its calls.
void ThreadPlaces::AddSamples(uint32_t thread, const Interval& time, PlaceSums* sums) {
  auto sample = std::ranges::lower_bound(trace_.cpu_samples, time.start_ns, {}, &CpuSample::time_ns);
  for (; sample != trace_.cpu_samples.end() && sample->time_ns < time.end_ns; ++sample) {
    if (sample->thread != thread || sample->sample_kind == trace::SampleKind::kPythonWaiting) continue;
    sums->Add(place_of_.Named(sample->stack), std::max<int64_t>(sample->weight_ns, 1));
  }
}

// Those of a thread come one after the other.
void ThreadPlaces::AddOsCalls(uint32_t thread, const Interval& time, PlaceSums* sums) {
  const std::vector<uint32_t>& calls = os_calls_of_[thread];
  auto at = std::ranges::partition_point(calls, [&](uint32_t i) { return trace_.os_calls[i].end_ns <= time.start_ns; });
  for (; at != calls.end() && trace_.os_calls[*at].start_ns < time.end_ns; ++at)
    sums->Add(place_of_.Named(trace_.os_calls[*at].stack), OverlapNs(trace_.os_calls[*at], time));
}

}  // namespace gprof
