#include "analysis/causes/step_times.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "analysis/causes/idle_parts.h"
#include "analysis/facts/operations/operations.h"
#include "analysis/facts/shared_facts.h"
#include "analysis/facts/steps/step_windows.h"
#include "analysis/facts/time/interval_set.h"
#include "analysis/result/statistics.h"
#include "base/saturate.h"

namespace gprof {
namespace {

constexpr size_t kFewestForATrend = 10;
constexpr double kTrendOfMedian = 0.05;  // from the first to the last iteration
constexpr double kTrendSameSign = 0.75;  // of the pairs that the slope is the median of

// Cuts intervals at the borders of the iterations. Intervals come in order and do not overlap.
class Cutter {
 public:
  explicit Cutter(std::vector<Iteration>* iterations)
      : next_(iterations->data()), end_(iterations->data() + iterations->size()) {}

  // Nothing of the interval is of more than one iteration, and that one is all of it.
  bool IsWhole(int64_t start_ns, int64_t end_ns) {
    while (next_ != end_ && next_->EndNs() <= start_ns) ++next_;
    return next_ == end_ || end_ns <= next_->start_ns || (start_ns >= next_->start_ns && end_ns <= next_->EndNs());
  }

  template <class F>
  void Add(int64_t start_ns, int64_t end_ns, F&& f) {
    while (next_ != end_ && next_->EndNs() <= start_ns) ++next_;
    for (Iteration* step = next_; step != end_ && step->start_ns < end_ns; ++step) {
      const int64_t within_ns = std::min(end_ns, step->EndNs()) - std::max(start_ns, step->start_ns);
      if (within_ns > 0) f(*step, within_ns);
    }
  }

 private:
  Iteration* next_;  // the first that had not ended when the last interval began
  Iteration* end_;
};

// Busy time of a device up to times that go forward.
class BusyUntil {
 public:
  BusyUntil(const Trace& trace, uint32_t device) : trace_(&trace), ops_(trace.device_ops[device]) {}

  void GoTo(int64_t time_ns) {
    GapList::Busy busy = busy_;
    for (const Operation op : OperationsOf(*trace_, ops_)) {
      if (op.start_ns() >= time_ns) break;
      busy.any.Add(op.start_ns(), op.end_ns());
      if (op.is_kernel()) busy.kernels.Add(op.start_ns(), op.end_ns());
      ++ops_.first;
    }
    busy_ = busy;
    any_ns_ = Before(busy.any, time_ns);
    kernels_ns_ = Before(busy.kernels, time_ns);
  }
  int64_t any_ns() const { return any_ns_; }
  int64_t kernels_ns() const { return kernels_ns_; }

 private:
  static int64_t Before(const BusyTime& busy, int64_t time_ns) {
    return busy.busy_ns() - (busy.end_ns() > time_ns ? busy.end_ns() - time_ns : 0);
  }

  const Trace* trace_;
  Trace::Slice ops_;  // those that start later
  GapList::Busy busy_;
  int64_t any_ns_ = 0, kernels_ns_ = 0;
};

// Iterations come in order of their start; ranges with a start and an end of their own may overlap.
void AddBusy(const Trace& trace, StepTimes* times) {
  BusyUntil start(trace, times->device), end = start;
  int64_t ended_ns = INT64_MIN;
  for (Iteration& step : times->iterations) {
    if (step.start_ns >= ended_ns) start = end;
    start.GoTo(step.start_ns);
    end = start;
    end.GoTo(step.EndNs());
    ended_ns = step.EndNs();
    step.parts_ns[kStepCopies] += end.any_ns() - start.any_ns();
    step.parts_ns[kStepKernels] += end.kernels_ns() - start.kernels_ns();
  }
}

void AddIdle(const AnalysisInput& input, StepTimes* times) {
  Cutter idle(&times->iterations);
  const auto add = [&](int64_t start_ns, int64_t end_ns, const Part& part) {
    idle.Add(start_ns, end_ns, [&](Iteration& step, int64_t ns) {
      step.parts_ns[kStepIdle + static_cast<size_t>(part.cause)] += ns;
      const bool is_slow = step.is_outlier || step.is_warmup;
      if (is_slow && part.cause == Cause::kHost) times->slow_host_ns[part.path().value] += ns;
    });
  };
  ForEachIdleRun(input, times->device, [&](const IdleRun& run) {
    if (run.gaps > 1 && idle.IsWhole(run.first.start_ns, run.end_ns)) {
      // Where in the iteration the gaps are does not matter.
      return add(run.first.start_ns, run.first.start_ns + run.parts.front().duration_ns, run.parts.front());
    }
    ForEachGapOf(input, run, [&](const Gap& gap, std::span<const Part> parts) { ForEachPartOf(gap, parts, add); });
  });
}

// Between windows steps are known by their ranges alone.
void FindKnown(const AnalysisInput& input, StepTimes* times) {
  if (input.trace().base_times.empty()) return;
  for (Iteration& step : times->iterations) {
    const int64_t recorded_ns =
        input.shared().recorded().ForEachOfDevice(times->device, step.start_ns, step.EndNs(), [](int64_t, int64_t) {});
    step.is_known = recorded_ns == step.duration_ns;
  }
}

void AddParts(const AnalysisInput& input, StepTimes* times) {
  if (times->device != kNone) {
    FindKnown(input, times);
    AddBusy(input.trace(), times);
    AddIdle(input, times);
  }
  for (Iteration& step : times->iterations) {
    step.parts_ns[kStepOutside] = step.duration_ns;
    for (size_t part = kStepCopies; part < kStepOutside; ++part) step.parts_ns[kStepOutside] -= step.parts_ns[part];
    step.parts_ns[kStepCopies] -= step.parts_ns[kStepKernels];  // what was busy without a kernel
  }
}

StepTimes Iterations(const AnalysisInput& input, const StepChoice& choice) {
  const Trace& trace = input.trace();
  StepTimes times;
  if (choice.ranges.empty()) return times;
  times.slow_from_ns = SlowFrom(DurationsOfSteps(trace, choice), &times.median_ns);
  times.iterations.resize(choice.ranges.size());
  const std::vector<int64_t> durations_ns = DurationsOfSteps(trace, choice);
  const auto usual =
      std::ranges::find_if(durations_ns, [&](int64_t ns) { return static_cast<double>(ns) <= times.slow_from_ns; });
  const auto first_usual = static_cast<size_t>(usual - durations_ns.begin());
  bool is_warm =
      first_usual == 0 || usual == durations_ns.end() ||
      !IsWarmupEvident(trace, input.shared().calls(), choice, trace.ranges[choice.ranges[first_usual]].start_ns);
  for (size_t i = 0; i < choice.ranges.size(); ++i) {
    Iteration& step = times.iterations[i];
    step.start_ns = trace.ranges[choice.ranges[i]].start_ns;
    step.duration_ns = trace.ranges[choice.ranges[i]].DurationNs();
    const bool is_slow = static_cast<double>(step.duration_ns) > times.slow_from_ns;
    is_warm |= !is_slow;
    step.is_warmup = is_slow && !is_warm;
    step.is_outlier = is_slow && is_warm;
    times.warmups += step.is_warmup;
    times.outliers += step.is_outlier;
  }
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
  times->slope_ns = Median(differences) / static_cast<double>(half);
  const double change_ns = std::abs(times->slope_ns) * static_cast<double>(durations.size() - 1);
  const double same_sign = static_cast<double>(times->slope_ns > 0 ? up : down) / pairs;
  times->has_trend = change_ns >= kTrendOfMedian * times->steady_median_ns && same_sign >= kTrendSameSign;
}

void AddStatistics(StepTimes* times) {
  std::vector<int64_t> durations, of_part;
  durations.reserve(times->iterations.size()), of_part.reserve(times->iterations.size());
  for (const Iteration& step : times->iterations) {
    if (step.is_warmup) continue;
    durations.push_back(step.duration_ns);
    times->known_count += step.is_known;
    if (step.is_known) AddWrapping(&times->known_ns, step.duration_ns);
  }
  if (durations.empty()) return;
  for (size_t part = 0; part < kStepPartCount; ++part) {
    of_part.clear();
    int64_t all_ns = 0;
    for (const Iteration& step : times->iterations) {
      if (step.is_warmup || !step.is_known) continue;
      of_part.push_back(step.parts_ns[part]);
      all_ns |= step.parts_ns[part];
    }
    if (all_ns == 0) continue;  // as most causes of idle time are
    const Statistics statistics = Summarize(std::span<int64_t>(of_part));
    times->median_parts_ns[part] = statistics.median;
    times->total_parts_ns[part] = statistics.total;
  }
  std::vector<int64_t> sorted = durations;
  const Statistics all = Summarize(std::span<int64_t>(sorted));
  times->count = all.count, times->total_ns = all.total, times->min_ns = all.min, times->max_ns = all.max;
  times->mean_ns = all.mean, times->steady_median_ns = all.median;
  std::ranges::sort(sorted);
  times->p95_ns = Percentile(sorted, 95);
  times->p99_ns = Percentile(sorted, 99);
  FindTrend(durations, times);
}

}  // namespace

std::string StepPartName(size_t part) {
  if (part == kStepKernels) return "kernels";
  if (part == kStepCopies) return "copies, memsets";
  if (part == kStepOutside) return "outside the GPU window";
  return "idle: " + std::string(InfoOf(static_cast<Cause>(part - kStepIdle)).name);
}

std::string StepPartKey(size_t part) {
  if (part == kStepKernels) return "kernel_ns";
  if (part == kStepCopies) return "copy_only_ns";
  if (part == kStepOutside) return "outside_ns";
  return "idle_" + std::string(InfoOf(static_cast<Cause>(part - kStepIdle)).name) + "_ns";
}

StepTimes TimeSteps(const AnalysisInput& input, const StepChoice& choice) {
  StepTimes times = Iterations(input, choice);
  times.device = input.shared().ops().devices_of_threads()[choice.thread];
  if (times.iterations.empty()) return times;
  AddParts(input, &times);
  AddStatistics(&times);
  return times;
}

std::vector<Iteration> TimeSlices(const AnalysisInput& input, uint32_t device, int64_t count) {
  const Trace::Slice ops = input.trace().device_ops[device];
  if (ops.first == ops.last) return {};
  const int64_t start_ns = input.trace().ops[ops.first].start_ns;
  const int64_t end_ns = input.shared().busy(device).any.end_ns();
  const int64_t slice_ns = std::max<int64_t>((end_ns - start_ns + count - 1) / count, 1);
  StepTimes times;
  times.device = device;
  for (int64_t at_ns = start_ns; at_ns < end_ns; at_ns += slice_ns) {
    Iteration slice;
    slice.start_ns = at_ns;
    slice.duration_ns = std::min(slice_ns, end_ns - at_ns);
    times.iterations.push_back(slice);
  }
  AddParts(input, &times);
  return std::move(times.iterations);
}

}  // namespace gprof
