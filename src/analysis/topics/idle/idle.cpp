// Why each GPU was idle. Every idle nanosecond has one cause: the parts sum to the gap, the gaps to the idle time.
#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/causes/idle_groups.h"
#include "analysis/causes/idle_parts.h"
#include "analysis/causes/shared_causes.h"
#include "analysis/causes/step_times.h"
#include "analysis/facts/judged_time.h"
#include "analysis/facts/shared_facts.h"
#include "analysis/result/display_names.h"
#include "analysis/result/metrics.h"
#include "analysis/topics/analyses.h"
#include "analysis/topics/idle/idle_findings.h"
#include "analysis/topics/idle/idle_summary.h"
#include "analysis/topics/idle/idle_tables.h"
#include "base/machine/parallel.h"

namespace gprof {
namespace {

void AddMetrics(AnalysisResult* result, const DeviceIdle& idle, const std::string& scope) {
  ForEachCause([&](Cause cause) { AddMetric(result, InfoOf(cause).metric, idle.split[cause], scope); });
  AddMetric(result, "gaps.count", idle.gaps, scope);
  AddMetric(result, "gaps.longest_ns", idle.longest_ns, scope);
}

// Idle time within an interval, which may be empty.
class IdleInterval {
 public:
  explicit IdleInterval(const Interval& time) : time_(time) {}

  void Add(const AnalysisInput& input, const IdleRun& run) {
    if (run.first.start_ns >= time_.start_ns && run.end_ns <= time_.end_ns) {
      for (const Part& part : run.parts) split_[part.cause] += part.duration_ns;
    } else if (OverlapNs(time_, Interval{run.first.start_ns, run.end_ns}) > 0) {
      ForEachGapOf(input, run, [&](const Gap& gap, std::span<const Part> parts) {
        ForEachPartOf(gap, parts, [&](int64_t start_ns, int64_t end_ns, const Part& part) {
          split_[part.cause] += OverlapNs(time_, Interval{start_ns, end_ns});
        });
      });
    }
  }
  void Add(const IdleInterval& more) { split_.Add(more.split_); }
  const CauseSplit& split() const { return split_; }

 private:
  Interval time_;
  CauseSplit split_;
};

// What gaps add up to, all of them or some.
struct Idle {
  IdleSummary summary;
  IdleGroups groups;
  IdleInterval steady, before;  // within the steady time, and before it

  // `steady_time` is empty where there is none.
  Idle(const AnalysisInput& input, const AnalysisOptions& options, const Interval& steady_time)
      : summary(input, options.max_rows, options.min_gap_ns, steady_time),
        groups(input, !options.is_brief),
        steady(steady_time),
        before(steady_time.DurationNs() > 0 ? Interval{INT64_MIN, steady_time.start_ns} : Interval{}),
        input_(input),
        has_steady_time_(steady_time.DurationNs() > 0) {}

  void Add(const IdleRun& run) {
    summary.Add(run);
    groups.Add(run);
    if (!has_steady_time_) return;
    steady.Add(input_, run);
    before.Add(input_, run);
  }

  void Add(const Idle& more) {
    summary.Add(more.summary);
    groups.Add(more.groups);
    steady.Add(more.steady);
    before.Add(more.before);
  }

 private:
  const AnalysisInput& input_;
  bool has_steady_time_;
};

void AddPreempted(const Trace& trace, const IdleSummary& summary, const HostGaps& host, AnalysisResult* result) {
  if (summary.devices().empty() || trace.switches.empty()) return;
  for (const DeviceIdle& idle : summary.devices()) {
    AddMetric(result, "idle.preempted_ns", host.preempted_ns[idle.device], DeviceScope(trace, idle.device));
  }
  AddMetric(result, "idle.preempted_ns", host.PreemptedNs());
}

// In some parts side by side: each has sums for every name, so that it is to have more gaps than there are names.
void AddDevice(const AnalysisInput& input, const AnalysisOptions& options, uint32_t device, const Interval& steady_time,
               Idle* idle) {
  const GapList& gaps = input.shared().gaps(device);
  const size_t operations = gaps.ops().last - gaps.ops().first;
  const size_t count = std::min<size_t>(
      gaps.pieces(), std::max<size_t>(operations / std::max<size_t>(32'768, input.trace().strings.size()), 1));
  (void)input.causes().of_gaps(device);
  std::vector<Idle> some(count, Idle(input, options, steady_time));
  ForEachSideBySide(count, input.shared().threads(), [&](size_t i) {
    some[i].summary.StartDevice(device);
    ForEachIdleRun(input, device, gaps.pieces() * i / count, gaps.pieces() * (i + 1) / count,
                   [&](const IdleRun& run) { some[i].Add(run); });
  });
  idle->summary.StartDevice(device);
  for (const Idle& of_part : some) idle->Add(of_part);
  idle->summary.EndDevice(gaps.window_ns());
}

Idle Summarize(const AnalysisInput& input, const AnalysisOptions& options, const Interval& steady_time) {
  Idle idle(input, options, steady_time);
  for (uint32_t device = 0; device < input.trace().device_ops.size(); ++device) {
    if (HasWindow(input.trace(), device)) AddDevice(input, options, device, steady_time, &idle);
  }
  idle.summary.Finish();
  return idle;
}

// The longest of the processes that use the GPU: that is how long the GPU waited, however many did.
void AddStartupTeardown(const Trace& trace, const std::vector<StartupTeardown>& startups, AnalysisResult* result) {
  int64_t startup_ns = 0, teardown_ns = 0;
  for (size_t i = 0; i < startups.size();) {
    const uint32_t device = startups[i].device;
    int64_t before_ns = 0, after_ns = 0;
    for (; i < startups.size() && startups[i].device == device; ++i) {
      before_ns = std::max(before_ns, startups[i].startup_ns);
      after_ns = std::max(after_ns, startups[i].teardown_ns);
    }
    AddMetric(result, "gpu.startup_ns", before_ns, DeviceScope(trace, device));
    AddMetric(result, "gpu.teardown_ns", after_ns, DeviceScope(trace, device));
    startup_ns += before_ns;
    teardown_ns += after_ns;
  }
  if (startups.empty()) return;
  AddMetric(result, "gpu.startup_ns", startup_ns);
  AddMetric(result, "gpu.teardown_ns", teardown_ns);
}

void AddSums(const AnalysisInput& input, uint32_t max_rows, const Idle& idle_time, AnalysisResult* result) {
  const Trace& trace = input.trace();
  const IdleSummary& summary = idle_time.summary;
  const HostGaps& host = input.causes().of_host(input);
  for (const DeviceIdle& idle : summary.devices()) AddMetrics(result, idle, DeviceScope(trace, idle.device));
  if (!summary.devices().empty()) AddMetrics(result, summary.Sum(), "");
  AddPreempted(trace, summary, host, result);
  result->tables.push_back(IdleCauseTable(trace, summary));
  result->tables.push_back(IdlePathTable(idle_time.groups, max_rows));
  result->tables.push_back(IdleCallTable(trace, summary, max_rows));
  result->tables.push_back(IdleOsTable(input, summary, host, max_rows));
  if (!host.mpi.empty()) result->tables.push_back(IdleMpiTable(trace, summary, host, max_rows));
  result->tables.push_back(IdleFunctionTable(summary, host, max_rows));
}

}  // namespace

// Of single gaps one is kept, as 0 would be all.
AnalysisResult SumIdle(const AnalysisInput& input, uint32_t max_rows) {
  AnalysisResult result;
  AddSums(input, max_rows, Summarize(input, {.max_rows = 1, .is_brief = true}, {}), &result);
  return result;
}

AnalysisResult RunIdle(const AnalysisInput& input, const AnalysisOptions& options) {
  const Trace& trace = input.trace();
  AnalysisResult result;
  const JudgedTime judged = JudgedBy(input, options.step);
  const std::optional<SteadyTime>& steady = judged.steady;
  const Idle idle_time = Summarize(input, options, steady ? steady->time : Interval{});
  const IdleSummary& summary = idle_time.summary;
  const HostGaps& host = input.causes().of_host(input);
  const std::vector<StartupTeardown> startups = StartupsAndTeardowns(input);
  AddSums(input, options.max_rows, idle_time, &result);
  AddStartupTeardown(trace, startups, &result);
  result.tables.push_back(IdleFunctionPathTable(trace, host, options.max_rows));
  result.tables.push_back(IdleLaunchTable(idle_time.groups, options.max_rows));
  result.tables.push_back(IdleNextTable(idle_time.groups, options.max_rows));
  result.tables.push_back(GapTable(trace, summary, options));
  result.tables.push_back(GapLengthTable(idle_time.groups));
  result.tables.push_back(StartupTeardownTable(trace, startups));
  std::optional<SteadyIdle> steady_idle;
  if (steady) {
    const DeviceTimes before = TimesOfDevices(input, {INT64_MIN, steady->time.start_ns});
    steady_idle = SteadyIdle{steady->step,
                             steady->iterations,
                             steady->time,
                             judged.devices.window_ns,
                             idle_time.steady.split(),
                             idle_time.before.split(),
                             before.busy_ns - before.kernel_ns};
  }
  result.findings = IdleFindings(input, summary, host, steady_idle ? &*steady_idle : nullptr);
  return result;
}

}  // namespace gprof
