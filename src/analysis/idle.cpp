// Why each GPU was idle. Every idle nanosecond has one cause: the parts sum to the gap, the gaps to the idle time.
#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/analyses.h"
#include "analysis/findings.h"
#include "analysis/idle_groups.h"
#include "analysis/idle_parts.h"
#include "analysis/idle_summary.h"
#include "analysis/idle_tables.h"
#include "analysis/metrics.h"
#include "analysis/names.h"
#include "analysis/outside.h"
#include "analysis/shared_facts.h"
#include "analysis/step_times.h"
#include "base/parallel.h"

namespace gprof {
namespace {

void AddMetrics(AnalysisResult* result, const DeviceIdle& idle, const std::string& scope) {
  ForEachCause([&](Cause cause) { AddMetric(result, InfoOf(cause).metric, idle.split[cause], scope); });
  AddMetric(result, "gaps.count", idle.gaps, scope);
  AddMetric(result, "gaps.longest_ns", idle.longest_ns, scope);
}

// From the first iteration that is no warm-up to the end of the last one. Between two iterations counts as well: the GPU
// is as idle there in every run.
struct Steady {
  NameId path;
  Interval time;
};

std::optional<Steady> SteadyOf(const AnalysisInput& input, const std::string& step) {
  const std::optional<StepChoice> choice = FindStep(input, step);
  const std::optional<Interval> time = choice ? SteadyTime(input.trace(), *choice) : std::nullopt;
  return time ? std::optional(Steady{choice->path, *time}) : std::nullopt;
}

// What gaps add up to, all of them or some.
struct Idle {
  IdleSummary summary;
  IdleGroups groups;
  CauseSplit steady;  // within the steady time

  Idle(const AnalysisInput& input, const AnalysisOptions& options)
      : summary(input, options.max_rows, options.min_gap_ns), groups(input, !options.is_brief) {}

  void Add(const Gap& gap, std::span<const Part> parts, const std::optional<Steady>& in) {
    summary.Add(gap, parts);
    groups.Add(gap, parts);
    if (in) AddSteady(gap, parts, in->time);
  }

  void Add(const Idle& more) {
    summary.Add(more.summary);
    groups.Add(more.groups);
    steady.Add(more.steady);
  }

 private:
  void AddSteady(const Gap& gap, std::span<const Part> parts, const Interval& time) {
    int64_t start_ns = gap.start_ns;
    for (const Part& part : parts) {
      const int64_t end_ns = start_ns + part.duration_ns;
      const int64_t common_ns = std::min(end_ns, time.end_ns) - std::max(start_ns, time.start_ns);
      if (common_ns > 0) steady[part.cause] += common_ns;
      start_ns = end_ns;
    }
  }
};

// In some parts side by side: each has sums for every name, so that it is to have more gaps than there are names.
void AddDevice(const AnalysisInput& input, const AnalysisOptions& options, uint32_t device,
               const std::optional<Steady>& steady, Idle* idle) {
  const GapList& gaps = input.shared().gaps(device);
  const size_t operations = gaps.ops().last - gaps.ops().first;
  const size_t count = std::min<size_t>(
      gaps.pieces(), std::max<size_t>(operations / std::max<size_t>(32'768, input.trace().strings.size()), 1));
  (void)input.shared().gap_causes(device);
  std::vector<Idle> some(count, Idle(input, options));
  ForEachSideBySide(count, input.shared().threads(), [&](size_t i) {
    some[i].summary.StartDevice(device);
    ForEachExplainedGapOf(input, device, gaps.pieces() * i / count, gaps.pieces() * (i + 1) / count,
                          [&](const Gap& gap, std::span<const Part> parts) { some[i].Add(gap, parts, steady); });
  });
  idle->summary.StartDevice(device);
  for (const Idle& of_part : some) idle->Add(of_part);
  idle->summary.EndDevice(gaps.window_ns());
}

Idle Summarize(const AnalysisInput& input, const AnalysisOptions& options, const std::optional<Steady>& steady) {
  Idle idle(input, options);
  for (uint32_t device = 0; device < input.trace().device_ops.size(); ++device) {
    if (HasWindow(input.trace(), device)) AddDevice(input, options, device, steady, &idle);
  }
  idle.summary.Finish();
  return idle;
}

// The longest of the processes that use the GPU: that is how long the GPU waited, however many did.
void AddOutside(const Trace& trace, const std::vector<OutsideWindow>& outside, AnalysisResult* result) {
  int64_t startup_ns = 0, teardown_ns = 0;
  for (size_t i = 0; i < outside.size();) {
    const uint32_t device = outside[i].device;
    int64_t before_ns = 0, after_ns = 0;
    for (; i < outside.size() && outside[i].device == device; ++i) {
      before_ns = std::max(before_ns, outside[i].startup_ns);
      after_ns = std::max(after_ns, outside[i].teardown_ns);
    }
    AddMetric(result, "gpu.startup_ns", before_ns, DeviceScope(trace, device));
    AddMetric(result, "gpu.teardown_ns", after_ns, DeviceScope(trace, device));
    startup_ns += before_ns;
    teardown_ns += after_ns;
  }
  if (outside.empty()) return;
  AddMetric(result, "gpu.startup_ns", startup_ns);
  AddMetric(result, "gpu.teardown_ns", teardown_ns);
}

}  // namespace

AnalysisResult RunIdle(const AnalysisInput& input, const AnalysisOptions& options) {
  const Trace& trace = input.trace();
  AnalysisResult result;
  const std::optional<Steady> steady = SteadyOf(input, options.step);
  const Idle idle_time = Summarize(input, options, steady);
  const IdleSummary& summary = idle_time.summary;
  const std::vector<OutsideWindow> outside = TimeOutsideWindows(input);
  for (const DeviceIdle& idle : summary.devices()) AddMetrics(&result, idle, DeviceScope(trace, idle.device));
  if (!summary.devices().empty()) AddMetrics(&result, summary.Sum(), "");
  AddOutside(trace, outside, &result);
  result.tables.push_back(IdleCauseTable(trace, summary));
  result.tables.push_back(IdlePathTable(idle_time.groups, options.max_rows));
  result.tables.push_back(IdleCallTable(trace, summary, options.max_rows));
  result.tables.push_back(IdleLaunchTable(idle_time.groups, options.max_rows));
  result.tables.push_back(IdleNextTable(idle_time.groups, options.max_rows));
  result.tables.push_back(GapTable(trace, summary, options));
  result.tables.push_back(GapLengthTable(idle_time.groups));
  result.tables.push_back(OutsideTable(trace, outside));
  std::optional<SteadyIdle> in_steps;
  if (steady) in_steps = SteadyIdle{PathName(trace, steady->path), idle_time.steady};
  result.findings = IdleFindings(trace, summary, in_steps ? &*in_steps : nullptr);
  return result;
}

}  // namespace gprof
