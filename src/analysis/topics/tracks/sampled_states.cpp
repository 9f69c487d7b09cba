#include "analysis/topics/tracks/sampled_states.h"

#include <algorithm>

namespace gprof {
namespace {

constexpr int64_t kTenths = 10, kNearlyAll = 9;

// The time of each state within one sample.
class TimeOfStates {
 public:
  explicit TimeOfStates(uint32_t state_count) : ns_(state_count) {}

  void Add(const StateInterval& interval, const Interval& sample) {
    const int64_t ns = OverlapNs(interval, sample);
    if (ns == 0) return;
    if (ns_[interval.state] == 0) met_.push_back(interval.state);
    ns_[interval.state] += ns;
  }

  // Forgets all.
  uint32_t Take(int64_t sample_ns) {
    uint32_t most = kNone;
    int64_t all_ns = 0;
    for (const uint32_t state : met_) {
      all_ns += ns_[state];
      if (most == kNone || ns_[state] > ns_[most]) most = state;
    }
    const bool is_of_it =
        most != kNone && ns_[most] >= sample_ns / kTenths * kNearlyAll && all_ns - ns_[most] <= sample_ns / kTenths;
    for (const uint32_t state : met_) ns_[state] = 0;
    met_.clear();
    return is_of_it ? most : kNone;
  }

 private:
  std::vector<int64_t> ns_;
  std::vector<uint32_t> met_;
};

}  // namespace

std::vector<uint32_t> StatesOf(std::span<const MetricSample> samples, std::span<const StateInterval> intervals,
                               uint32_t state_count, int64_t clock_error_ns) {
  std::vector<uint32_t> states;
  states.reserve(samples.size());
  TimeOfStates times(state_count);
  std::vector<StateInterval> open;  // begun, and not over
  std::size_t next = 0;
  for (const MetricSample& s : samples) {
    const Interval sample{s.start_ns - clock_error_ns, std::max(s.end_ns, s.start_ns + 1) + clock_error_ns};
    std::erase_if(open, [&](const StateInterval& interval) { return interval.end_ns <= sample.start_ns; });
    for (; next < intervals.size() && intervals[next].start_ns < sample.end_ns; ++next) {
      if (intervals[next].end_ns > sample.start_ns) open.push_back(intervals[next]);
    }
    for (const StateInterval& interval : open) times.Add(interval, sample);
    states.push_back(times.Take(sample.DurationNs()));
  }
  return states;
}

std::vector<SampleStatistics> StatisticsOfStates(const MetricSource& source, std::span<const MetricSample> samples,
                                                 std::span<const uint32_t> states, uint32_t state_count) {
  std::vector<std::vector<MetricSample>> of_states(state_count);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (states[i] != kNone) of_states[states[i]].push_back(samples[i]);
  }
  std::vector<SampleStatistics> statistics;
  for (const std::vector<MetricSample>& of_state : of_states) statistics.push_back(StatisticsOf(source, of_state));
  return statistics;
}

}  // namespace gprof
