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

namespace gprof {
namespace {

void AddMetrics(AnalysisResult* result, const DeviceIdle& idle, const std::string& scope) {
  ForEachCause([&](Cause cause) { AddMetric(result, InfoOf(cause).metric, idle.split[cause], scope); });
  AddMetric(result, "gaps.count", idle.gaps, scope);
  AddMetric(result, "gaps.longest_ns", idle.longest_ns, scope);
}

struct Idle {
  IdleSummary summary;
  IdleGroups groups;
  std::optional<SteadyIdle> steady;
};

// From the first iteration that is no warm-up to the end of the last one. Between two iterations counts as well: the GPU
// is as idle there in every run.
std::optional<Interval> TimeOfSteps(const AnalysisInput& input, const std::string& step, Idle* idle) {
  const std::optional<StepChoice> choice = FindStep(input, step);
  if (!choice) return std::nullopt;
  const std::optional<Interval> time = SteadyTime(input.trace(), *choice);
  if (time) idle->steady = SteadyIdle{PathName(input.trace(), choice->path), {}};
  return time;
}

void AddSteady(const Gap& gap, std::span<const Part> parts, const Interval& time, SteadyIdle* steady) {
  int64_t start_ns = gap.start_ns;
  for (const Part& part : parts) {
    const int64_t end_ns = start_ns + part.duration_ns;
    const int64_t common_ns = std::min(end_ns, time.end_ns) - std::max(start_ns, time.start_ns);
    if (common_ns > 0) steady->split[part.cause] += common_ns;
    start_ns = end_ns;
  }
}

Idle Summarize(const AnalysisInput& input, const AnalysisOptions& options) {
  const Trace& trace = input.trace();
  Idle idle{IdleSummary(input, options.max_rows, options.min_gap_ns), IdleGroups(input, !options.is_brief), std::nullopt};
  const std::optional<Interval> steady_time = TimeOfSteps(input, options.step, &idle);
  IdleSummary& summary = idle.summary;
  for (uint32_t device = 0; device < trace.device_ops.size(); ++device) {
    if (!HasWindow(trace, device)) continue;
    summary.StartDevice(device);
    const auto add = [&](const Gap& gap, std::span<const Part> parts) {
      summary.Add(gap, parts);
      idle.groups.Add(gap, parts);
      if (steady_time) AddSteady(gap, parts, *steady_time, &*idle.steady);
    };
    summary.EndDevice(ForEachExplainedGap(input, device, add));
  }
  summary.Finish();
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
  const Idle idle_time = Summarize(input, options);
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
  result.findings = IdleFindings(trace, summary, idle_time.steady ? &*idle_time.steady : nullptr);
  return result;
}

}  // namespace gprof
