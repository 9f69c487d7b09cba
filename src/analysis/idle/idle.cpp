// Why each GPU was idle. Every idle nanosecond has one cause: the parts sum to the gap, the gaps to the idle time.
#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/facts/shared_facts.h"
#include "analysis/gpus/startup_teardown.h"
#include "analysis/idle/idle_groups.h"
#include "analysis/idle/idle_parts.h"
#include "analysis/idle/idle_summary.h"
#include "analysis/idle/idle_tables.h"
#include "analysis/idle/steady_time.h"
#include "analysis/ranges/step_times.h"
#include "analysis/result/analyses.h"
#include "analysis/result/display_names.h"
#include "analysis/result/findings.h"
#include "analysis/result/metrics.h"
#include "base/parallel.h"

namespace gprof {
namespace {

void AddMetrics(AnalysisResult* result, const DeviceIdle& idle, const std::string& scope) {
  ForEachCause([&](Cause cause) { AddMetric(result, InfoOf(cause).metric, idle.split[cause], scope); });
  AddMetric(result, "gaps.count", idle.gaps, scope);
  AddMetric(result, "gaps.longest_ns", idle.longest_ns, scope);
}

// What gaps add up to, all of them or some.
struct Idle {
  IdleSummary summary;
  IdleGroups groups;
  CauseSplit steady;  // within the steady time

  // `steady_time` is empty where there is none.
  Idle(const AnalysisInput& input, const AnalysisOptions& options, const Interval& steady_time)
      : summary(input, options.max_rows, options.min_gap_ns),
        groups(input, !options.is_brief),
        has_details_(!options.is_brief),
        trace_(&input.trace()),
        ops_(&input.shared().ops()),
        steady_time_(steady_time) {}

  void Add(const Gap& gap, std::span<const Part> parts) {
    summary.Add(gap, parts);
    groups.Add(gap, parts);
    int64_t start_ns = gap.start_ns;
    for (const Part& part : parts) {
      const int64_t end_ns = start_ns + part.duration_ns;
      steady[part.cause] += SteadyNs(start_ns, end_ns);
      start_ns = end_ns;
    }
  }

  // Where the device was idle before these operations it was for that cause from end to end, `queue` or `launch`.
  void AddPlain(const GapList& gaps, Cause cause, uint32_t first, uint32_t last) {
    const PlainSum sum = AddPlainByCall(gaps, cause, first, last);
    if (has_details_) AddPlainDetails(gaps, cause, first, last);
    summary.AddPlain(cause, sum.gaps, sum.idle_ns);
    steady[cause] += SteadyNsOf(gaps, first, last, sum.idle_ns);
  }

  void Add(const Idle& more) {
    summary.Add(more.summary);
    groups.Add(more.groups);
    steady.Add(more.steady);
  }

 private:
  struct PlainSum {
    int64_t gaps = 0, idle_ns = 0;
  };

  // Those in a row whose launching calls share their facts and their range are added at once. A function of its own, so
  // that what it adds up stays out of memory.
  [[gnu::noinline]] PlainSum AddPlainByCall(const GapList& gaps, Cause cause, uint32_t first, uint32_t last) {
    const PackedOps::Item* item = trace_->ops.items().data() + first;
    const PackedCalls::Item* const calls = trace_->api_calls.items().data();
    const bool has_inner_calls = ops_->HasInnerCalls();
    const uint64_t min_ns = static_cast<uint64_t>(summary.min_gap_ns());
    uint64_t untold_ns = UntoldNs();
    uint32_t facts = 0, range = kNone;
    int64_t alike = 0, alike_ns = 0;
    PlainSum all;
    for (const uint32_t gap_ns : gaps.ShortIdleBefore(first, last)) {
      const PackedOps::Item& op = *item++;
      PrefetchForReading(&op);
      if (gap_ns == 0) continue;
      const uint32_t index = has_inner_calls ? ops_->CallOf(OpOf(op)) : op.Call();
      const PackedCalls::Item& call = calls[index];
      PrefetchForReading(&call);
      if (call.range != range || call.facts != facts) {
        AddAlike(cause, facts, range, {alike, alike_ns}, &all);
        facts = call.facts, range = call.range, alike = alike_ns = 0;
      }
      ++alike;
      alike_ns += gap_ns;
      if (gap_ns - min_ns < untold_ns) [[likely]]
        continue;
      AddPlainByLength(gaps, cause, op, index, gap_ns);
      untold_ns = UntoldNs();
    }
    AddAlike(cause, facts, range, {alike, alike_ns}, &all);
    return all;
  }

  void AddAlike(Cause cause, uint32_t facts, uint32_t range, PlainSum alike, PlainSum* all) {
    if (alike.gaps == 0) return;
    all->gaps += alike.gaps;
    all->idle_ns += alike.idle_ns;
    summary.AddPlainOf(facts, cause, alike.idle_ns);
    groups.AddPlain(cause, facts, range, alike.gaps, alike.idle_ns);
  }

  // Gaps that are so much longer than the least are neither shorter than what is told nor among the longest.
  uint64_t UntoldNs() const {
    return static_cast<uint64_t>(summary.LeastKeptNs()) - static_cast<uint64_t>(summary.min_gap_ns());
  }

  uint32_t OpOf(const PackedOps::Item& op) const { return static_cast<uint32_t>(&op - trace_->ops.items().data()); }

  [[gnu::noinline]] void AddPlainByLength(const GapList& gaps, Cause cause, const PackedOps::Item& op, uint32_t call,
                                          int64_t gap_ns) {
    const Part part{cause, gap_ns, call, {}, UnknownReason::kIsKnown};
    summary.AddByLength({op.start_ns() - gap_ns, op.start_ns(), OpOf(op), false, false, gaps.device()}, {&part, 1});
  }

  void AddPlainDetails(const GapList& gaps, Cause cause, uint32_t first, uint32_t last) {
    const PackedOps::Item* item = trace_->ops.items().data() + first;
    for (const uint32_t gap_ns : gaps.ShortIdleBefore(first, last)) {
      if (gap_ns != 0) groups.AddPlainBefore(cause, item->facts, gap_ns);
      ++item;
    }
  }

  int64_t SteadyNs(int64_t start_ns, int64_t end_ns) const {
    return std::max<int64_t>(std::min(end_ns, steady_time_.end_ns) - std::max(start_ns, steady_time_.start_ns), 0);
  }

  // Of the gaps before operations in a row, which are so long together.
  int64_t SteadyNsOf(const GapList& gaps, uint32_t first, uint32_t last, int64_t sum_ns) const {
    const int64_t start_ns = trace_->ops[first].start_ns - gaps.IdleBefore(first);
    const int64_t end_ns = trace_->ops[last - 1].start_ns;
    if (start_ns >= steady_time_.start_ns && end_ns <= steady_time_.end_ns) return sum_ns;
    if (SteadyNs(start_ns, end_ns) == 0) return 0;
    int64_t steady_ns = 0;
    for (uint32_t op = first; op < last; ++op) {
      const int64_t gap_end_ns = trace_->ops[op].start_ns;
      steady_ns += SteadyNs(gap_end_ns - gaps.IdleBefore(op), gap_end_ns);
    }
    return steady_ns;
  }

  bool has_details_;
  const Trace* trace_;
  const OpFacts* ops_;
  Interval steady_time_;
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
  (void)input.shared().gap_causes(device);
  std::vector<Idle> some(count, Idle(input, options, steady_time));
  ForEachSideBySide(count, input.shared().threads(), [&](size_t i) {
    some[i].summary.StartDevice(device);
    ForEachGapOfPieces(
        input, device, gaps.pieces() * i / count, gaps.pieces() * (i + 1) / count,
        [&](Cause cause, uint32_t begin, uint32_t end) { some[i].AddPlain(gaps, cause, begin, end); },
        [&](const Gap& gap, GapCauses::Cursor& causes) { some[i].Add(gap, causes.Next(gap)); });
    some[i].groups.Finish();
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
void AddStartupTeardown(const Trace& trace, const std::vector<StartupTeardown>& outside, AnalysisResult* result) {
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
  const std::optional<SteadyTime> steady = FindSteadyTime(input, options.step);
  const Idle idle_time = Summarize(input, options, steady ? steady->time : Interval{});
  const IdleSummary& summary = idle_time.summary;
  const HostGaps& host = input.shared().host_gaps(input);
  const std::vector<StartupTeardown> outside = StartupsAndTeardowns(input);
  for (const DeviceIdle& idle : summary.devices()) AddMetrics(&result, idle, DeviceScope(trace, idle.device));
  if (!summary.devices().empty()) AddMetrics(&result, summary.Sum(), "");
  AddPreempted(trace, summary, host, &result);
  AddStartupTeardown(trace, outside, &result);
  result.tables.push_back(IdleCauseTable(trace, summary));
  result.tables.push_back(IdlePathTable(idle_time.groups, options.max_rows));
  result.tables.push_back(IdleCallTable(trace, summary, options.max_rows));
  result.tables.push_back(IdleOsTable(trace, summary, host, options.max_rows));
  result.tables.push_back(IdleFunctionTable(trace, summary, host, options.max_rows));
  result.tables.push_back(IdleLaunchTable(idle_time.groups, options.max_rows));
  result.tables.push_back(IdleNextTable(idle_time.groups, options.max_rows));
  result.tables.push_back(GapTable(trace, summary, options));
  result.tables.push_back(GapLengthTable(idle_time.groups));
  result.tables.push_back(StartupTeardownTable(trace, outside));
  std::optional<SteadyIdle> steady_idle;
  if (steady) {
    steady_idle = SteadyIdle{steady->step, TimesOfDevices(input, steady->time).window_ns, idle_time.steady};
  }
  result.findings = IdleFindings(trace, summary, host, steady_idle ? &*steady_idle : nullptr);
  return result;
}

}  // namespace gprof
