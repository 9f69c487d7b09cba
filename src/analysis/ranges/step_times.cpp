#include "analysis/ranges/step_times.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "analysis/copies/copies_alone.h"
#include "analysis/facts/statistics.h"
#include "analysis/idle/idle_parts.h"

namespace gprof {
namespace {

constexpr double kSlowInMads = 5;
// Steps that all take the same time have no deviation: what is within 1 % of the median is the same to anybody.
constexpr double kLeastMadOfMedian = 0.01;
constexpr size_t kFewestForATrend = 10;
constexpr double kTrendOfMedian = 0.05;  // from the first to the last iteration
constexpr double kTrendSameSign = 0.75;  // of the pairs that the slope is the median of

// Cuts intervals at the borders of the iterations. Intervals come in order and do not overlap.
class Cutter {
 public:
  explicit Cutter(std::vector<Iteration>* iterations)
      : next_(iterations->data()), end_(iterations->data() + iterations->size()) {}

  template <class F>
  void Add(int64_t start_ns, int64_t end_ns, F&& f) {
    while (next_ != end_ && next_->EndNs() <= start_ns) ++next_;
    if (next_ == end_) return;
    if (start_ns >= next_->start_ns && end_ns <= next_->EndNs()) {  // as most are
      if (start_ns < end_ns) f(*next_, end_ns - start_ns);
      return;
    }
    for (Iteration* step = next_; step != end_ && step->start_ns < end_ns; ++step) {
      const int64_t within_ns = std::min(end_ns, step->EndNs()) - std::max(start_ns, step->start_ns);
      if (within_ns > 0) f(*step, within_ns);
    }
  }

 private:
  Iteration* next_;  // the first that had not ended when the last interval began
  Iteration* end_;
};

// What operations and gaps, in order of time, add to the parts of the iterations. Nearly all lie within one iteration
// or between two: they are added up until one does not, and only that is cut.
class PartSums {
 public:
  PartSums(const Trace& trace, const OpFacts& ops, const GapList& gaps, StepTimes* times)
      : trace_(trace),
        gaps_(gaps),
        start_ns_(gaps.start_ns()),
        times_(*times),
        next_(times->iterations.data()),
        end_(next_ + times->iterations.size()),
        to_ns_(next_ == end_ ? INT64_MAX : next_->start_ns),
        idle_(&times->iterations),
        busy_(&times->iterations, kStepCopies),
        kernels_(&times->iterations, kStepKernels),
        transfer_(ops.transfers().data()),
        transfers_end_(transfer_ + ops.transfers().size()),
        have_lengths_(std::all_of(ops.sums().begin(), ops.sums().end(),
                                  [](const OpFacts::Sum& sum) { return sum.share_ns == sum.time_ns; })) {
    for (uint32_t i = 0; i < trace.ops.FactsCount(); ++i) is_kernel_.push_back(IsKernelLike(trace.ops.FactsAt(i).kind));
  }

  // Operations in a row, and the idle time before each, which is of that cause where there is any.
  void AddOps(uint32_t first, std::span<const uint32_t> idle_ns, Cause cause) {
    for (size_t i = 0; i < idle_ns.size(); ++i) {
      i += AddWithin(first + static_cast<uint32_t>(i), idle_ns.subspan(i), cause);
      if (i >= idle_ns.size()) return;
      const int64_t op_start_ns = trace_.ops[first + i].start_ns;
      AddIdle(op_start_ns - idle_ns[i], op_start_ns, {cause, idle_ns[i], kNone, {}, UnknownReason::kIsKnown});
      AddOp(first + static_cast<uint32_t>(i));
    }
  }

  // One whose gap has been added.
  void AddOp(uint32_t op) {
    const PackedOps::Item& item = trace_.ops.items()[op];
    PrefetchForReading(&item);
    const int64_t op_start_ns = item.start_ns(), end_ns = trace_.ops.EndNs(item), before_ns = busy_.until_ns;
    busy_.Add(op_start_ns, end_ns);
    if (op_start_ns > end_ns) return;
    kernels_.until_ns = copies_.KernelsEnded(before_ns);
    if (is_kernel_[item.facts] != 0) {
      kernels_.Add(op_start_ns, end_ns);
      copies_.AddKernel(op_start_ns, end_ns, before_ns);
    } else {
      copies_.AddCopy(op_start_ns, end_ns, before_ns);
    }
    if (end_ns > to_ns_) SetBorders(end_ns);
  }

  void AddGap(const Gap& gap, std::span<const Part> parts) {
    int64_t at_ns = gap.start_ns;
    for (const Part& part : parts) {
      AddIdle(at_ns, at_ns + part.duration_ns, part);
      at_ns += part.duration_ns;
    }
  }

 private:
  // The union of intervals that come in order of their start.
  struct Union {
    Union(std::vector<Iteration>* iterations, size_t of_part) : cutter(iterations), part(of_part) {}
    Cutter cutter;
    size_t part;
    int64_t until_ns = INT64_MIN;

    void Add(int64_t start_ns, int64_t end_ns) {
      if (end_ns <= until_ns) return;
      cutter.Add(std::max(start_ns, until_ns), end_ns, [&](Iteration& step, int64_t ns) { step.parts_ns[part] += ns; });
      until_ns = end_ns;
    }
  };

  void AddIdle(int64_t start_ns, int64_t end_ns, const Part& part) {
    idle_.Add(start_ns, end_ns, [&](Iteration& step, int64_t ns) {
      step.parts_ns[kStepIdle + static_cast<size_t>(part.cause)] += ns;
      const bool is_slow = step.is_outlier || step.is_warmup;
      if (is_slow && part.cause == Cause::kHost) times_.slow_host_ns[part.path.value] += ns;
    });
  }

  // Returns how many of the operations lie between the borders, each with the idle time before it. They are busy for
  // the time between the ends of what ran before them and of all of them, less that idle time.
  size_t AddWithin(uint32_t first, std::span<const uint32_t> idle_ns, Cause cause) {
    const PackedOps::Item* const items = trace_.ops.items().data() + first;
    const int64_t first_start_ns = items->start_ns(), to_ns = to_ns_;
    if (first_start_ns < start_ns_ || first_start_ns - idle_ns[0] < from_ns_) return 0;
    const int64_t before_ns = idle_ns[0] != 0 ? first_start_ns - idle_ns[0] : std::max(busy_.until_ns, start_ns_);
    const Kernels all = KernelsWithin(first, idle_ns.size());
    if (all.count >= std::min(idle_ns.size(), kFewestKernels)) {
      int64_t sum_ns = 0;
      for (const uint32_t ns : idle_ns.first(all.count)) sum_ns += ns;
      AddToIteration(sum_ns, cause, all.ended_ns - before_ns - sum_ns, 0);
      busy_.until_ns = all.ended_ns;
      return all.count;
    }
    const uint8_t* const is_kernel = is_kernel_.data();
    CopiesAlone copies = copies_;
    int64_t ended_ns = before_ns, sum_ns = 0;
    size_t i = 0;
    for (const PackedOps::Item* item = items; i < idle_ns.size(); ++i, ++item) {
      PrefetchForReading(item);
      const int64_t op_start_ns = item->start_ns();
      int64_t end_ns = op_start_ns + item->duration;
      if (item->duration_high != 0) [[unlikely]] {
        end_ns = trace_.ops.EndNs(*item);
        if (end_ns < op_start_ns) break;
      }
      if (end_ns > to_ns) break;
      sum_ns += idle_ns[i];
      if (is_kernel[item->facts] == 0) [[unlikely]] {
        copies.AddCopy(op_start_ns, end_ns, ended_ns);
      } else if (copies.IsBeforeEnd(op_start_ns)) [[unlikely]] {
        copies.AddKernel(op_start_ns, end_ns, ended_ns);
      }
      ended_ns = std::max(ended_ns, end_ns);
    }
    if (i == 0) return 0;
    AddToIteration(sum_ns, cause, ended_ns - before_ns - sum_ns, copies.time_ns() - copies_.time_ns());
    copies_ = copies;
    busy_.until_ns = ended_ns;
    return i;
  }

  void AddToIteration(int64_t idle_ns, Cause cause, int64_t busy_ns, int64_t without_kernel_ns) {
    if (within_ == nullptr) return;
    within_->parts_ns[kStepIdle + static_cast<size_t>(cause)] += idle_ns;
    within_->parts_ns[kStepCopies] += busy_ns;
    within_->parts_ns[kStepKernels] += busy_ns - without_kernel_ns;
  }

  // Operations that are kernels, begin when all copies had ended, and end before the border; and when they had ended.
  struct Kernels {
    size_t count;
    int64_t ended_ns;
  };

  // How many of the first ones are like that, as far as it takes no look at each of them: idle time says when all that
  // came before it had ended.
  Kernels KernelsWithin(uint32_t first, size_t count) {
    const PackedOps::Item* const items = trace_.ops.items().data();
    while (transfer_ != transfers_end_ && *transfer_ < first) ++transfer_;
    if (!have_lengths_ || copies_.IsBeforeEnd(items[first].start_ns())) return {0, 0};
    uint32_t last = first + static_cast<uint32_t>(count);
    if (transfer_ != transfers_end_) last = std::min(last, *transfer_);
    if (last != first && items[last - 1].start_ns() > to_ns_) {
      const auto is_before = [this](const PackedOps::Item& item) { return item.start_ns() <= to_ns_; };
      last = static_cast<uint32_t>(std::partition_point(items + first, items + last, is_before) - items);
    }
    for (last = std::min(last, gaps_.ops().last - 1); last > first; --last) {
      const int64_t idle_ns = gaps_.IdleBefore(last), ended_ns = items[last].start_ns() - idle_ns;
      if (idle_ns != 0 && ended_ns <= to_ns_) return {last - first, ended_ns};
    }
    return {0, 0};
  }

  // Those of the iteration at that time, or of the time between two.
  void SetBorders(int64_t time_ns) {
    while (next_ != end_ && next_->EndNs() <= time_ns) ++next_;
    within_ = next_ != end_ && next_->start_ns <= time_ns ? next_ : nullptr;
    from_ns_ = within_ != nullptr ? within_->start_ns : time_ns;
    to_ns_ = within_ != nullptr ? within_->EndNs() : next_ != end_ ? next_->start_ns : INT64_MAX;
  }

  static constexpr size_t kFewestKernels = 4;  // fewer of more are not worth another search

  const Trace& trace_;
  const GapList& gaps_;
  const int64_t start_ns_;  // of the window of the device
  StepTimes& times_;
  std::vector<uint8_t> is_kernel_;  // by the facts of operations
  Iteration* next_;                 // the first that ends after the borders, or the one they are of
  Iteration* end_;
  Iteration* within_ = nullptr;
  int64_t from_ns_ = INT64_MIN, to_ns_;
  Cutter idle_;
  Union busy_, kernels_;
  CopiesAlone copies_;
  const uint32_t *transfer_, *transfers_end_;  // those that no operation has come after yet
  const bool have_lengths_;                    // every operation took time
};

void AddParts(const AnalysisInput& input, StepTimes* times) {
  if (times->device != kNone) {
    const GapList& gaps = input.shared().gaps(times->device);
    PartSums sums(input.trace(), input.shared().ops(), gaps, times);
    ForEachGapOfPieces(
        input, times->device, 0, gaps.pieces(),
        [&](Cause cause, uint32_t first, uint32_t last) {
          sums.AddOps(first, gaps.ShortIdleBefore(first, last), cause);
        },
        [&](const Gap& gap, GapCauses::Cursor& causes) { sums.AddGap(gap, causes.Next(gap)); },
        [&](uint32_t op) { sums.AddOp(op); });
  }
  for (Iteration& step : times->iterations) {
    step.parts_ns[kStepOutside] = step.duration_ns;
    for (size_t part = kStepCopies; part < kStepOutside; ++part) step.parts_ns[kStepOutside] -= step.parts_ns[part];
    step.parts_ns[kStepCopies] -= step.parts_ns[kStepKernels];  // what was busy without a kernel
  }
}

// Steps longer than this are slow.
double SlowFrom(std::vector<int64_t> durations, double* median_ns) {
  *median_ns = Median(durations);
  for (int64_t& ns : durations) ns = std::llabs(ns - std::llround(*median_ns));
  return *median_ns + kSlowInMads * std::max(Median(durations), kLeastMadOfMedian * *median_ns);
}

std::vector<int64_t> DurationsOf(const Trace& trace, const StepChoice& choice) {
  std::vector<int64_t> durations;
  durations.reserve(choice.ranges.size());
  for (const uint32_t range : choice.ranges) durations.push_back(trace.ranges[range].DurationNs());
  return durations;
}

StepTimes Iterations(const Trace& trace, const StepChoice& choice) {
  StepTimes times;
  if (choice.ranges.empty()) return times;
  times.slow_from_ns = SlowFrom(DurationsOf(trace, choice), &times.median_ns);
  times.iterations.resize(choice.ranges.size());
  bool is_warm = false;
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
    if (!step.is_warmup) durations.push_back(step.duration_ns);
  }
  if (durations.empty()) return;
  for (size_t part = 0; part < kStepPartCount; ++part) {
    of_part.clear();
    int64_t all_ns = 0;
    for (const Iteration& step : times->iterations) {
      if (step.is_warmup) continue;
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
  std::sort(sorted.begin(), sorted.end());
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

std::optional<Interval> SteadyTimeOf(const Trace& trace, const StepChoice& choice) {
  if (choice.ranges.empty()) return std::nullopt;
  double median_ns = 0;
  const double slow_from_ns = SlowFrom(DurationsOf(trace, choice), &median_ns);
  const auto first = std::find_if(choice.ranges.begin(), choice.ranges.end(), [&](uint32_t range) {
    return static_cast<double>(trace.ranges[range].DurationNs()) <= slow_from_ns;
  });
  if (first == choice.ranges.end()) return std::nullopt;
  return Interval{trace.ranges[*first].start_ns, trace.ranges[choice.ranges.back()].end_ns};
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
