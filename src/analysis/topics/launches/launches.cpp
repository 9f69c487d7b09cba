// How fast work was launched, what became of it (call, queue, run), and whether the GPU had to wait for launches.
#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/causes/idle_parts.h"
#include "analysis/facts/gaps/gaps.h"
#include "analysis/facts/judged_time.h"
#include "analysis/facts/operations/kernel_groups.h"
#include "analysis/facts/operations/operations.h"
#include "analysis/facts/recording/overhead_kinds.h"
#include "analysis/facts/shared_facts.h"
#include "analysis/findings/finding_catalogue.h"
#include "analysis/findings/finding_words.h"
#include "analysis/result/display_names.h"
#include "analysis/result/metrics.h"
#include "analysis/result/statistics.h"
#include "analysis/result/tables.h"
#include "analysis/topics/analyses.h"
#include "analysis/topics/launches/launches_over_time.h"
#include "analysis/topics/launches/queue_depth.h"
#include "base/saturate.h"
#include "base/units.h"

namespace gprof {
namespace {

// Shorter kernels may end before a launch that does not wait for them has returned.
constexpr int64_t kLongEnoughNs = 20'000;
constexpr int64_t kLaunchNs = 5'000;
constexpr int64_t kLaunchesOfAPattern = 20, kOthersAllowed = 20;
constexpr double kNearlyAllPercent = 95;

struct LaunchWaits {
  int64_t waited = 0, others = 0;
  double Percent() const { return PercentOf(waited, waited + others); }
};

bool HasLongKernels(const AnalysisInput& input) {
  const std::vector<Statistics>& times = input.shared().kernel_times();
  return std::ranges::any_of(times, [](const Statistics& of) { return of.max >= kLongEnoughNs; });
}

// Stops when enough launches did not wait: in most traces these are the first ones.
LaunchWaits CountWaits(const AnalysisInput& input) {
  const Trace& trace = input.trace();
  const OpFacts& ops = input.shared().ops();
  LaunchWaits launches;
  for (const Operation op : OperationsOf(trace)) {
    if (!op.is_kernel() || op.duration_ns() < kLongEnoughNs) continue;
    const uint32_t call = ops.CallOf(op.index());
    if (call == kNone) continue;
    if (trace.api_calls[call].end_ns >= op.end_ns()) {
      ++launches.waited;
    } else if (++launches.others > kOthersAllowed && launches.Percent() < kNearlyAllPercent) {
      return launches;
    }
  }
  return launches;
}

// What the launching calls of all kernels took beyond that of a launch which does not wait.
int64_t BlockedNs(const AnalysisInput& input) {
  const Trace& trace = input.trace();
  const OpFacts& ops = input.shared().ops();
  SaturatingSum blocked_ns;
  for (const Operation op : OperationsOf(trace)) {
    const uint32_t call = op.is_kernel() ? ops.CallOf(op.index()) : kNone;
    if (call == kNone || trace.api_calls[call].end_ns < op.end_ns()) continue;
    blocked_ns += std::max<int64_t>(trace.api_calls[call].DurationNs() - kLaunchNs, 0);
  }
  return blocked_ns;
}

// Where nearly every launching call lasts until its kernel has ended, as with CUDA_LAUNCH_BLOCKING=1.
void AddLaunchBlocking(const AnalysisInput& input, std::vector<Finding>* findings) {
  if (!HasLongKernels(input)) return;
  const LaunchWaits launches = CountWaits(input);
  if (launches.waited < kLaunchesOfAPattern || launches.Percent() < kNearlyAllPercent) return;
  const int64_t idle_ns = input.shared().window_ns() - input.shared().busy_ns();
  Finding finding = NewFinding("launch.blocking");
  finding.message = "Launches are synchronous, as with CUDA_LAUNCH_BLOCKING=1: " + FormatPercent(launches.Percent()) +
                    " of " + CountOf(launches.waited + launches.others, "launch call") +
                    " returned only after their kernel had ended";
  finding.gain_ns = std::min(idle_ns, BlockedNs(input));
  finding.basis = "idle time that launching while kernels run would avoid";
  findings->push_back(std::move(finding));
}

// A launch takes a few microseconds (2.6 us on an H200, reference/peers.md 4a), and what a framework does for each
// operator some tens on a slow host. A longer gap has another reason.
constexpr uint32_t kLateLaunchAtMostNs = 100'000;
constexpr int64_t kGapsOfAPattern = 10;             // fewer may be chance
constexpr int64_t kSeldom = 20;                     // one kernel in so many is no pattern either
constexpr double kPatternPercentWorthAFinding = 5;  // of the window

// ---- launching calls ----

struct LaunchCalls {
  int64_t count = 0, total_ns = 0;
  double interval_median_ns = 0;  // from a launch to the next one of the same thread
};

// The median time from each launch to the next one of the same thread.
double MedianInterval(const Trace& trace, const std::vector<uint8_t>& are_launches, int64_t launches) {
  Samples intervals_ns(static_cast<size_t>(launches));
  size_t count = 0;
  for (const Trace::Slice& thread : trace.thread_api_calls) {
    std::optional<int64_t> last_ns;
    for (const Call call : CallsOf(trace, thread)) {
      if (are_launches[call.kind_number()] == 0 || !call.is_outermost()) continue;
      if (last_ns) intervals_ns.Set(count++, call.start_ns() - *last_ns);
      last_ns = call.start_ns();
    }
  }
  return Samples::Slice(&intervals_ns, 0, count).Median();
}

LaunchCalls ReadCalls(const AnalysisInput& input) {
  const PackedCalls& all = input.trace().api_calls;
  LaunchCalls calls;
  std::vector<uint8_t> are_launches;  // by the traits of calls
  for (uint32_t i = 0; i < all.TraitsCount(); ++i) {
    const PackedCalls::Traits& traits = all.TraitsAt(i);
    are_launches.push_back(IsLaunch(traits.api_class));
    if (are_launches.back() == 0 || traits.thread == kNone) continue;
    calls.count += input.shared().calls().sums()[i].count;
    calls.total_ns += input.shared().calls().sums()[i].total_ns;
  }
  calls.interval_median_ns = MedianInterval(input.trace(), are_launches, calls.count);
  return calls;
}

// ---- call, queue and run of each kernel ----

Table KernelTable(const AnalysisInput& input, AnalysisResult* result, const AnalysisOptions& options) {
  Table table{"kernel_launches",
              "Launches by kernel",
              {{"kernels", "Kernels", Unit::kCount, false},
               {"calls", "Calls", Unit::kCount, true},
               {"call_ns", "Call time", Unit::kNs, true},
               {"call_median_ns", "Median call", Unit::kNs, false, ColumnRole::kMedian, "duration of the launch call"},
               {"queued", "Queued", Unit::kCount, false},
               {"queue_ns", "Queue time", Unit::kNs, true},
               {"queue_median_ns", "Median queue", Unit::kNs, false, ColumnRole::kMedian,
                "from its return to the start of the kernel, for kernels that had not started by then (queued)"},
               {"run_ns", "Run time", Unit::kNs, true},
               {"run_median_ns", "Median run", Unit::kNs, false, ColumnRole::kMedian},
               {"kernel", "Name", Unit::kText, false}},
              {},
              "Calls longer than runs with nothing queued: launch-bound.",
              RowsOfRanks::kAddUp};
  const KernelGroups& kernels = input.shared().kernels();
  std::optional<KernelLaunches> with_histograms;
  if (options.has_histograms) {
    with_histograms.emplace(input.trace(), input.shared().ops(), kernels, Spread::kHistogram);
  }
  const KernelLaunches& launches = with_histograms ? *with_histograms : input.shared().kernel_launches();
  const std::vector<Statistics> runs = with_histograms ? with_histograms->TakeTimes() : std::vector<Statistics>();
  for (const char* const median : {"call_median_ns", "queue_median_ns", "run_median_ns"}) {
    AddHistogramColumn(options, median, &table);
  }
  int64_t queued = 0, queue_ns = 0;
  for (uint32_t i = 0; i < kernels.size(); ++i) {
    const Statistics &call = launches.CallsOf(i), &queue = launches.QueuedOf(i);
    const Statistics& run = with_histograms ? runs[i] : input.shared().kernel_times()[i];
    queued += queue.count;
    queue_ns += queue.total;
    const auto median = [](const Statistics& s) { return s.count > 0 ? Cell(s.median) : Cell(); };
    table.rows.push_back({run.count, call.count, call.total, median(call), queue.count, queue.total, median(queue),
                          run.total, median(run), kernels.Name(i)});
    for (const Statistics* of : {&call, &queue, &run}) AddHistogramCell(options, *of, &table.rows.back());
  }
  SortAndCut(&table, 2, 9, options.max_rows);
  AddMetric(result, "launches.queued", queued);
  AddMetric(result, "launches.queue_ns", queue_ns);
  return table;
}

// ---- queue depth ----

std::vector<std::pair<uint32_t, QueueDepth>> DepthOfDevices(const AnalysisInput& input) {
  std::vector<std::pair<uint32_t, QueueDepth>> devices;
  for (uint32_t device = 0; device < input.trace().device_ops.size(); ++device) {
    if (HasWindow(input.trace(), device)) devices.emplace_back(device, QueueDepthOf(input, device));
  }
  return devices;
}

Table DepthTable(const Trace& trace, const std::vector<std::pair<uint32_t, QueueDepth>>& devices) {
  Table table{"queue_depth",
              "Queue depth",
              {{"device", "GPU", Unit::kText, false, ColumnRole::kOwn},
               {"depth", "Depth", Unit::kText, false},
               {"percent", "Time (%)", Unit::kPercent, false},
               {"time_ns", "Total", Unit::kNs, false}},
              {},
              "Percent of the GPU window. Depth 0: nothing launched, the GPU waits for the host. Depth 1: the GPU will "
              "wait as soon as this operation ends."};
  for (const auto& [device, depth] : devices) {
    for (size_t i = 0; i < QueueDepth::kLevels; ++i) {
      if (depth.time_ns[i] == 0) continue;
      table.rows.push_back({DeviceScope(trace, device), std::string(QueueDepth::LevelName(i)),
                            PercentOf(depth.time_ns[i], depth.TotalNs()), depth.time_ns[i]});
    }
  }
  return table;
}

void AddDepthMetrics(AnalysisResult* result, const QueueDepth& depth, const std::string& scope) {
  AddMetric(result, "launches.depth0_ns", depth.time_ns[0], scope);
  AddMetric(result, "launches.depth1_ns", depth.time_ns[1], scope);
  AddMetric(result, "launches.depth2_ns", depth.TotalNs() - depth.time_ns[0] - depth.time_ns[1], scope);
  AddMetric(result, "launches.max_depth", depth.max, scope);
}

// ---- the staircase: each kernel is over before the next one is launched ----

struct LateLaunches {
  int64_t kernels = 0, idle_ns = 0, launch_ns = 0, kernel_ns = 0, window_ns = 0;
  bool AreAPattern() const {
    return kernels >= kGapsOfAPattern && PercentOf(idle_ns, window_ns) >= kPatternPercentWorthAFinding;
  }
};

// Of the whole run, and of the time that the run is judged by.
struct LateLaunchSums {
  LateLaunches all, judged;
  int64_t kernels = 0;  // late or not
  bool AreAPattern() const { return kSeldom * all.kernels >= kernels && (judged.AreAPattern() || all.AreAPattern()); }
};

// What a call does to its thread while the GPU is idle.
enum class Meanwhile : uint8_t { kNotAsked, kGoesOn, kHoldsUp };

class LateLaunchFinder {
 public:
  LateLaunchFinder(const AnalysisInput& input, const JudgedTime& judged)
      : input_(input),
        trace_(input.trace()),
        ops_(input.shared().ops()),
        judged_(judged.steady ? judged.steady->time : Interval{INT64_MIN, INT64_MAX}),
        of_function_(trace_.strings.size(), Meanwhile::kNotAsked) {
    sums_.all.window_ns = input.shared().window_ns();
    sums_.judged.window_ns = judged.devices.window_ns;
    sums_.kernels = input.shared().kernels().kernels();
  }

  LateLaunchSums Run() {
    for (uint32_t device = 0; device < trace_.device_ops.size(); ++device) {
      next_overhead_ = 0;
      ForEachIdleRun(input_, device, [&](const IdleRun& run) {
        if (run.parts.front().cause == Cause::kQueue) return;
        ForEachGapOf(input_, run, [&](const Gap& gap, std::span<const Part>) { See(gap); });
      });
    }
    return sums_;
  }

 private:
  void See(const Gap& gap) {
    if (gap.is_cut_after || gap.after == kNone || gap.DurationNs() > kLateLaunchAtMostNs) return;
    const uint32_t call = ops_.CallOf(gap.after);
    if (call == kNone) return;
    const GpuOp& op = trace_.ops[gap.after];
    if (op.kind != OpKind::kKernel || !IsByLaunching(call, gap)) return;
    Add(gap, trace_.api_calls[call].start_ns, op.DurationNs(), &sums_.all);
    const bool is_judged = gap.start_ns >= judged_.start_ns && gap.start_ns < judged_.end_ns;
    if (is_judged) Add(gap, trace_.api_calls[call].start_ns, op.DurationNs(), &sums_.judged);
  }

  static void Add(const Gap& gap, int64_t call_start_ns, int64_t kernel_ns, LateLaunches* sums) {
    ++sums->kernels;
    sums->idle_ns += gap.DurationNs();
    sums->launch_ns += gap.end_ns - std::max(gap.start_ns, call_start_ns);
    sums->kernel_ns += kernel_ns;
  }

  // Whether launching explains the gap: the work had not been queued before it, and until the launch the host neither
  // waited for the GPU nor copied, allocated or loaded.
  bool IsByLaunching(uint32_t call, const Gap& gap) {
    const ApiCall& launch = trace_.api_calls[call];
    if (launch.end_ns <= gap.start_ns || launch.start_ns >= gap.end_ns || launch.thread == kNone) return false;
    if (launch.process != kNone && gap.start_ns < trace_.processes[launch.process].start_ns) return false;
    const uint32_t first = trace_.thread_api_calls[launch.thread].first;
    for (uint32_t i = call; i > first; --i) {
      const ApiCall& before = trace_.api_calls[i - 1];
      if (before.parent != kNone) {
        i = OutermostCall(trace_, i - 1) + 2;  // which is looked at next
        continue;
      }
      if (before.end_ns <= gap.start_ns) break;
      if (MeanwhileOf(before) == Meanwhile::kHoldsUp) return false;
    }
    return !IsInterrupted(launch.thread, gap);
  }

  Meanwhile MeanwhileOf(const ApiCall& call) {
    Meanwhile& known = of_function_[call.function.value];
    if (known == Meanwhile::kNotAsked) known = HoldsUp(call) ? Meanwhile::kHoldsUp : Meanwhile::kGoesOn;
    return known;
  }

  bool HoldsUp(const ApiCall& call) const {
    switch (call.api_class) {
      case ApiClass::kSync:
      case ApiClass::kMemory:
      case ApiClass::kLoad:
        return true;
      case ApiClass::kCopy:
      case ApiClass::kMemset:
        return trace_.Text(call.function).find("Async") == std::string_view::npos;
      default:
        return false;
    }
  }

  // By the recording, a loader or a compiler. Gaps come in order, and overheads are few.
  bool IsInterrupted(uint32_t thread, const Gap& gap) {
    const std::vector<Overhead>& all = trace_.overheads;
    while (next_overhead_ < all.size() && all[next_overhead_].end_ns <= gap.start_ns) ++next_overhead_;
    for (size_t i = next_overhead_; i < all.size() && all[i].start_ns < gap.end_ns; ++i) {
      if (all[i].thread == thread && all[i].end_ns > gap.start_ns && all[i].kind != kOverheadCommandBufferFull)
        return true;
    }
    return false;
  }

  const AnalysisInput& input_;
  const Trace& trace_;
  const OpFacts& ops_;
  const Interval judged_;
  std::vector<Meanwhile> of_function_;  // by NameId
  size_t next_overhead_ = 0;
  LateLaunchSums sums_;
};

std::string Each(int64_t sum_ns, int64_t count) {
  return FormatNs(static_cast<double>(sum_ns) / static_cast<double>(std::max<int64_t>(count, 1)));
}

// Where what comes again is not launch-bound, the run as a whole may be. A small part of it is only worth a note.
void AddFinding(const LateLaunchSums& sums, const JudgedTime& judged, double interval_ns,
                std::vector<Finding>* findings) {
  const bool is_judged = judged.steady && sums.judged.AreAPattern();
  const LateLaunches& late = is_judged ? sums.judged : sums.all;
  Finding finding = NewFinding("launch.bound", PercentOf(late.idle_ns, sums.all.window_ns));
  finding.message = "Launch-bound for " +
                    ShareOfTime(late.idle_ns, late.window_ns, is_judged ? WhenOf(judged.steady->step) : "") + ": " +
                    CountOf(late.kernels, "kernel") + " of " + Each(late.kernel_ns, late.kernels) +
                    " on average started on an empty queue";
  finding.evidence.push_back(Each(late.idle_ns, late.kernels) + " idle before each of them, one launch every " +
                             FormatNs(interval_ns));
  finding.gain_ns = late.idle_ns;
  finding.basis = "idle time before those kernels, " + FormatNs(late.launch_ns) + " of it in their launch calls";
  findings->push_back(std::move(finding));
}

}  // namespace

AnalysisResult RunLaunches(const AnalysisInput& input, const AnalysisOptions& options) {
  const Trace& trace = input.trace();
  AnalysisResult result;
  LaunchCalls calls;
  LateLaunchSums late;
  const JudgedTime judged = JudgedBy(input, options.step);
  std::vector<std::pair<uint32_t, QueueDepth>> devices;
  std::optional<Table> over_time;
  const SharedFacts& shared = input.shared();
  AddLaunchBlocking(input, &result.findings);
  if (options.is_brief) {
    late = LateLaunchFinder(input, judged).Run();
    if (!late.AreAPattern()) return result;  // all tables are details then
  }
  RunSideBySide(input.shared().threads(),
                {[&] { (void)shared.kernel_launches(); }, [&] { devices = DepthOfDevices(input); },
                 [&] {
                   if (!options.is_brief) late = LateLaunchFinder(input, judged).Run();
                 },
                 [&] {
                   if (!options.is_brief) over_time = LaunchesOverTime(input);
                 },
                 [&] { calls = ReadCalls(input); }});
  if (late.AreAPattern()) AddFinding(late, judged, calls.interval_median_ns, &result.findings);
  AddMetric(
      &result, "launches.per_second",
      shared.window_ns() == 0 ? 0 : static_cast<double>(calls.count) * 1e9 / static_cast<double>(shared.window_ns()));
  AddMetric(&result, "launches.call_ns", calls.total_ns);
  AddMetric(&result, "launches.interval_median_ns", calls.interval_median_ns);
  AddMetric(&result, "launches.late_kernels", late.all.kernels);
  AddMetric(&result, "launches.late_idle_ns", late.all.idle_ns);
  result.tables.push_back(KernelTable(input, &result, options));
  QueueDepth sum;
  for (const auto& [device, depth] : devices) {
    sum.Add(depth);
    AddDepthMetrics(&result, depth, DeviceScope(trace, device));
  }
  AddDepthMetrics(&result, sum, "");
  result.tables.push_back(DepthTable(trace, devices));
  // Without a finding the figures are for those who ask for them.
  for (Table& table : result.tables) table.is_detail = result.findings.empty();
  if (over_time) {
    over_time->is_detail = true;
    result.tables.push_back(std::move(*over_time));
  }
  return result;
}

}  // namespace gprof
