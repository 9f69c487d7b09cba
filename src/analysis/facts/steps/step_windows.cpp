#include "analysis/facts/steps/step_windows.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "analysis/facts/operations/operations.h"
#include "analysis/facts/time/recorded_time.h"
#include "analysis/result/statistics.h"

namespace gprof {
namespace {

constexpr double kSlowInMads = 5;
// Steps that all take the same time have no deviation: what is within 1 % of the median is the same to anybody.
constexpr double kLeastMadOfMedian = 0.01;

// Times as long as later ones, on average: loading code takes a hundred times as long as a launch, so that one such
// among two hundred is enough.
constexpr double kSlowLaunches = 1.5;

bool IsCodeLoadedIn(const Trace& trace, const CallFacts& calls, const Interval& time) {
  const auto& rare = calls.rare();
  return std::ranges::any_of(rare,
                             [&](uint32_t i) {
                               const ApiCall& call = trace.api_calls[i];
                               return call.api_class == ApiClass::kLoad && OverlapNs(call, time) > 0;
                             }) ||
         std::ranges::any_of(trace.jits, [&](const Jit& jit) { return OverlapNs(jit, time) > 0; });
}

bool AreLaunchesSlowUntil(const Trace& trace, uint32_t thread, int64_t until_ns) {
  struct Launches {
    double count = 0, time_ns = 0;
  } early, later;
  for (const Call call : CallsOf(trace, trace.thread_api_calls[thread])) {
    if (call.shared().api_class != ApiClass::kLaunch) continue;
    Launches& launches = call.start_ns() < until_ns ? early : later;
    ++launches.count;
    launches.time_ns += static_cast<double>(call.end_ns() - call.start_ns());
  }
  if (early.count == 0 || later.count == 0) return false;
  return early.time_ns / early.count > kSlowLaunches * later.time_ns / later.count;
}

}  // namespace

std::optional<int64_t> NumberOfStep(std::string_view name) {
  const size_t last = name.find_last_not_of("0123456789");
  const std::string_view digits = name.substr(last == std::string_view::npos ? 0 : last + 1);
  int64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return error == std::errc() ? std::optional(number) : std::nullopt;
}

std::vector<int64_t> DurationsOfSteps(const Trace& trace, const StepChoice& choice) {
  std::vector<int64_t> durations;
  durations.reserve(choice.ranges.size());
  for (const uint32_t range : choice.ranges) durations.push_back(trace.ranges[range].DurationNs());
  return durations;
}

double SlowFrom(std::vector<int64_t> durations, double* median_ns) {
  *median_ns = Median(durations);
  for (int64_t& ns : durations) ns = std::llabs(ns - std::llround(*median_ns));
  return *median_ns + kSlowInMads * std::max(Median(durations), kLeastMadOfMedian * *median_ns);
}

std::optional<Interval> SteadyTimeOf(const Trace& trace, const StepChoice& choice) {
  if (choice.ranges.empty()) return std::nullopt;
  double median_ns = 0;
  const double slow_from_ns = SlowFrom(DurationsOfSteps(trace, choice), &median_ns);
  const auto first = std::ranges::find_if(choice.ranges, [&](uint32_t range) {
    return static_cast<double>(trace.ranges[range].DurationNs()) <= slow_from_ns;
  });
  if (first == choice.ranges.end()) return std::nullopt;
  return Interval{trace.ranges[*first].start_ns, trace.ranges[choice.ranges.back()].end_ns};
}

StepWindows::StepWindows(const Trace& trace, const std::optional<StepChoice>& choice) {
  if (!choice) return;
  const std::optional<Interval> steady = SteadyTimeOf(trace, *choice);
  if (!steady) return;
  process_ = trace.threads[choice->thread].process;
  for (const uint32_t index : choice->ranges) {
    const NvtxRange range = trace.ranges[index];
    if (range.start_ns < steady->start_ns) continue;
    windows_.push_back({range.start_ns, range.end_ns});
    total_ns_ += range.DurationNs();
  }
}

bool StepWindows::Contains(uint32_t process, int64_t time_ns) const {
  if (process != process_) return false;
  const auto after = std::upper_bound(windows_.begin(), windows_.end(), time_ns,
                                      [](int64_t ns, const Interval& window) { return ns < window.start_ns; });
  return after != windows_.begin() && time_ns < std::prev(after)->end_ns;
}

bool IsWarmupEvident(const Trace& trace, const CallFacts& calls, const StepChoice& choice, int64_t until_ns) {
  const NvtxRange& first = trace.ranges[choice.ranges.front()];
  const std::optional<int64_t> number = NumberOfStep(trace.Text(first.name));
  if (number && *number <= 1) return true;
  const uint32_t process = trace.threads[choice.thread].process;
  const bool is_ours = trace.recorder.empty() && process != kNone;
  if (is_ours && RecordedTime::IsRecordedThroughout(trace, process)) return true;
  return IsCodeLoadedIn(trace, calls, {first.start_ns, until_ns}) ||
         AreLaunchesSlowUntil(trace, choice.thread, until_ns);
}

}  // namespace gprof
