#include "analysis/step_times.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "analysis/idle_parts.h"
#include "analysis/statistics.h"

namespace gprof {
namespace {

constexpr double kSlowInMads = 5;
// Steps that all take the same time have no deviation: what is within 1 % of the median is the same to anybody.
constexpr double kLeastMadOfMedian = 0.01;
constexpr size_t kFewestForATrend = 10;
constexpr double kTrendOfMedian = 0.05;  // from the first to the last iteration
constexpr double kTrendSameSign = 0.75;  // of the pairs that the slope is the median of

double MedianOf(std::vector<int64_t> samples) {
  return Median(samples);
}

// Cuts intervals at the borders of the iterations. Intervals come in order and do not overlap.
class Cutter {
 public:
  explicit Cutter(std::vector<Iteration>* iterations)
      : next_(iterations->data()), end_(iterations->data() + iterations->size()) {}

  template <class F>
  void Add(int64_t start_ns, int64_t end_ns, F&& f) {
    while (next_ != end_ && EndOf(*next_) <= start_ns) ++next_;
    if (next_ == end_) return;
    if (start_ns >= next_->start_ns && end_ns <= EndOf(*next_)) {  // as most are
      if (start_ns < end_ns) f(*next_, end_ns - start_ns);
      return;
    }
    for (Iteration* step = next_; step != end_ && step->start_ns < end_ns; ++step) {
      const int64_t within_ns = std::min(end_ns, EndOf(*step)) - std::max(start_ns, step->start_ns);
      if (within_ns > 0) f(*step, within_ns);
    }
  }

 private:
  static int64_t EndOf(const Iteration& step) { return step.start_ns + step.duration_ns; }

  Iteration* next_;  // the first that had not ended when the last interval began
  Iteration* end_;
};

// Adds the union of intervals that come in order of their start to a part of the iterations.
class UnionPart {
 public:
  UnionPart(std::vector<Iteration>* iterations, size_t part) : cutter_(iterations), part_(part) {}

  void Add(int64_t start_ns, int64_t end_ns) {
    if (end_ns <= until_ns_) return;
    cutter_.Add(std::max(start_ns, until_ns_), end_ns, [&](Iteration& step, int64_t ns) { step.parts_ns[part_] += ns; });
    until_ns_ = end_ns;
  }

 private:
  Cutter cutter_;
  size_t part_;
  int64_t until_ns_ = INT64_MIN;
};

void AddParts(const AnalysisInput& input, StepTimes* times) {
  const Trace& trace = input.trace();
  std::vector<Iteration>& steps = times->iterations;
  if (times->device != kNone) {
    UnionPart kernels(&steps, kStepKernels), busy(&steps, kStepCopies);
    Cutter idle(&steps);
    const auto add_idle = [&](int64_t start_ns, int64_t end_ns, const Part& part) {
      idle.Add(start_ns, end_ns, [&](Iteration& step, int64_t ns) {
        step.parts_ns[kStepIdle + static_cast<size_t>(part.cause)] += ns;
        const bool is_slow = step.is_outlier || step.is_warmup;
        if (is_slow && part.cause == Cause::kHost) times->slow_host_ns[part.path.value] += ns;
      });
    };
    ForEachIdlePart(input, times->device, add_idle, [&](uint32_t op) {
      const int64_t start_ns = trace.ops[op].start_ns, end_ns = trace.ops[op].end_ns;
      busy.Add(start_ns, end_ns);
      if (IsKernelLike(trace.ops[op].kind)) kernels.Add(start_ns, end_ns);
    });
  }
  for (Iteration& step : steps) {
    step.parts_ns[kStepOutside] = step.duration_ns;
    for (size_t part = kStepCopies; part < kStepOutside; ++part) step.parts_ns[kStepOutside] -= step.parts_ns[part];
    step.parts_ns[kStepCopies] -= step.parts_ns[kStepKernels];  // what was busy without a kernel
  }
}

void MarkSlow(StepTimes* times) {
  std::vector<int64_t> durations, distances;
  for (const Iteration& step : times->iterations) durations.push_back(step.duration_ns);
  times->median_ns = MedianOf(durations);
  for (const int64_t ns : durations) distances.push_back(std::llabs(ns - std::llround(times->median_ns)));
  const double mad_ns = std::max(MedianOf(std::move(distances)), kLeastMadOfMedian * times->median_ns);
  times->slow_from_ns = times->median_ns + kSlowInMads * mad_ns;
  bool is_warm = false;
  for (Iteration& step : times->iterations) {
    const bool is_slow = static_cast<double>(step.duration_ns) > times->slow_from_ns;
    is_warm |= !is_slow;
    step.is_warmup = is_slow && !is_warm;
    step.is_outlier = is_slow && is_warm;
    times->warmups += step.is_warmup;
    times->outliers += step.is_outlier;
  }
}

StepTimes Iterations(const Trace& trace, const StepChoice& choice) {
  StepTimes times;
  for (const uint32_t range : choice.ranges) {
    Iteration step;
    step.start_ns = trace.ranges[range].start_ns;
    step.duration_ns = trace.ranges[range].DurationNs();
    times.iterations.push_back(step);
  }
  if (!times.iterations.empty()) MarkSlow(&times);
  return times;
}

// The value that at least `percent` of the samples do not exceed.
int64_t Percentile(const std::vector<int64_t>& sorted, size_t percent) {
  return sorted[(sorted.size() * percent + 99) / 100 - 1];
}

// Theil's slope of the pairs that lie half the run apart: robust, and as many pairs as iterations.
void FindTrend(const std::vector<int64_t>& durations, StepTimes* times) {
  if (durations.size() < kFewestForATrend) return;
  const size_t half = durations.size() / 2;
  std::vector<int64_t> differences;
  int64_t up = 0, down = 0;
  for (size_t i = 0; i + half < durations.size(); ++i) {
    differences.push_back(durations[i + half] - durations[i]);
    up += differences.back() > 0;
    down += differences.back() < 0;
  }
  const double pairs = static_cast<double>(differences.size());
  times->slope_ns = MedianOf(std::move(differences)) / static_cast<double>(half);
  const double change_ns = std::abs(times->slope_ns) * static_cast<double>(durations.size() - 1);
  const double same_sign = static_cast<double>(times->slope_ns > 0 ? up : down) / pairs;
  times->has_trend = change_ns >= kTrendOfMedian * times->steady_median_ns && same_sign >= kTrendSameSign;
}

void AddStatistics(StepTimes* times) {
  std::vector<int64_t> durations;
  std::array<std::vector<int64_t>, kStepPartCount> parts;
  for (const Iteration& step : times->iterations) {
    if (step.is_warmup) continue;
    durations.push_back(step.duration_ns);
    for (size_t part = 0; part < kStepPartCount; ++part) parts[part].push_back(step.parts_ns[part]);
  }
  if (durations.empty()) return;
  for (size_t part = 0; part < kStepPartCount; ++part) {
    const Statistics of_part = Summarize(std::span<int64_t>(parts[part]));
    times->median_parts_ns[part] = of_part.median;
    times->total_parts_ns[part] = of_part.total;
  }
  std::vector<int64_t> sorted = durations;
  const Statistics all = Summarize(std::span<int64_t>(sorted));
  times->count = all.count, times->total_ns = all.total, times->min_ns = all.min, times->max_ns = all.max;
  times->mean_ns = all.mean, times->steady_median_ns = all.median;
  std::sort(sorted.begin(), sorted.end());
  times->p95_ns = Percentile(sorted, 95);
  times->p99_ns = Percentile(sorted, 99);
  FindTrend(durations, times);
}

}  // namespace

std::string StepPartName(size_t part) {
  if (part == kStepKernels) return "kernels";
  if (part == kStepCopies) return "copies, fills";
  if (part == kStepOutside) return "outside of the GPU window";
  return "idle: " + std::string(InfoOf(static_cast<Cause>(part - kStepIdle)).name);
}

std::string StepPartKey(size_t part) {
  if (part == kStepKernels) return "kernel_ns";
  if (part == kStepCopies) return "copy_only_ns";
  if (part == kStepOutside) return "outside_ns";
  return "idle_" + std::string(InfoOf(static_cast<Cause>(part - kStepIdle)).name) + "_ns";
}

std::optional<Interval> SteadyTime(const Trace& trace, const StepChoice& choice) {
  const StepTimes times = Iterations(trace, choice);
  const auto first = std::find_if(times.iterations.begin(), times.iterations.end(),
                                  [](const Iteration& step) { return !step.is_warmup; });
  if (first == times.iterations.end()) return std::nullopt;
  return Interval{first->start_ns, times.iterations.back().start_ns + times.iterations.back().duration_ns};
}

StepTimes TimeSteps(const AnalysisInput& input, const StepChoice& choice) {
  const Trace& trace = input.trace();
  StepTimes times = Iterations(trace, choice);
  times.device = input.shared().ops().devices_of_threads()[choice.thread];
  if (times.iterations.empty()) return times;
  AddParts(input, &times);
  AddStatistics(&times);
  return times;
}

}  // namespace gprof
