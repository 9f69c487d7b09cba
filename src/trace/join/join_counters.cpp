#include <algorithm>

#include "trace/join/join.h"
#include "trace/join/kept_records.h"
#include "trace/model/saturating_time.h"
#include "trace/text/enum_or.h"

namespace gprof {
namespace {

uint32_t ProcessOf(uint32_t writer) { return IsCollector(writer) ? kNone : writer; }

void JoinPlans(UnjoinedTrace& unjoined, NumberedThings* plans) {
  Trace& t = unjoined.trace;
  for (const auto& [writer, r] : TakeKept<trace::CounterPlanRecord>(unjoined)) {
    if (!plans->Add(writer, r.id, t.counter_plans.size())) continue;
    CounterPlan p;
    p.time_ns = TimeNs(r.time_ns);
    p.process = ProcessOf(writer);
    p.chip = unjoined.Name(writer, r.chip);
    p.library = unjoined.Name(writer, r.library);
    p.metric_set = unjoined.Name(writer, r.metric_set);
    p.passes = r.passes;
    p.replay = EnumOr(r.replay, trace::ReplayMode::kRange, trace::ReplayMode::kUnknown);
    p.caches = EnumOr(r.caches, trace::CacheControl::kAll, trace::CacheControl::kUnknown);
    p.clocks = EnumOr(r.clocks, trace::ClockControl::kBoost, trace::ClockControl::kUnknown);
    t.counter_plans.push_back(p);
  }
}

// Devices are numbered later: until then that of a range is an ordinal in its process.
void JoinRanges(UnjoinedTrace& unjoined, NumberedThings* plans, NumberedThings* ranges) {
  Trace& t = unjoined.trace;
  for (const auto& [writer, r] : TakeKept<trace::CounterRangeRecord>(unjoined)) {
    if (!ranges->Add(writer, r.id, t.counter_ranges.size())) continue;
    CounterRange range;
    range.start_ns = TimeNs(r.start_ns);
    range.duration_ns = EndNs(r.start_ns, r.duration_ns) - range.start_ns;
    range.plan = plans->Find(writer, r.plan);
    range.process = ProcessOf(writer);
    range.device = r.device;
    range.context = r.context;
    range.stream = r.stream;
    range.correlation = r.correlation;
    range.invocation = r.invocation;
    range.passes = r.passes;
    range.name = unjoined.Name(writer, r.name);
    range.nvtx = unjoined.Name(writer, r.nvtx);
    range.scope = EnumOr(r.scope, trace::CounterScope::kGraph, trace::CounterScope::kUnknown);
    range.status = EnumOr(r.status, trace::CounterStatus::kTimeLimit, trace::CounterStatus::kPassesMissing);
    t.counter_ranges.push_back(range);
  }
}

void JoinValues(UnjoinedTrace& unjoined, NumberedThings* ranges) {
  Trace& t = unjoined.trace;
  for (const auto& [writer, r] : TakeKept<trace::CounterValuesRecord>(unjoined)) {
    CounterValue v;
    v.value = r.value;
    v.range = ranges->Find(writer, r.range);
    v.metric = unjoined.Name(writer, r.metric);
    v.unit = unjoined.Name(writer, r.unit);
    v.text = unjoined.Name(writer, r.text);
    v.scale = r.scale;
    if (v.range != kNone) t.counter_values.push_back(v);
  }
  std::stable_sort(t.counter_values.begin(), t.counter_values.end(),
                   [](const CounterValue& a, const CounterValue& b) { return a.range < b.range; });
}

void JoinPcSamples(UnjoinedTrace& unjoined) {
  Trace& t = unjoined.trace;
  for (const auto& [writer, r] : TakeKept<trace::PcSampleRecord>(unjoined)) {
    t.pc_samples.push_back({r.cubin, r.offset, r.samples, ProcessOf(writer), unjoined.Name(writer, r.kernel),
                            unjoined.Name(writer, r.reason), unjoined.Name(writer, r.file), r.line});
  }
  for (const auto& [writer, r] : TakeKept<trace::InstructionRecord>(unjoined)) {
    t.instructions.push_back({r.cubin, r.offset, unjoined.Name(writer, r.kernel), unjoined.Name(writer, r.text)});
  }
}

}  // namespace

void JoinCounters(UnjoinedTrace& unjoined) {
  NumberedThings plans(unjoined), ranges(unjoined);
  JoinPlans(unjoined, &plans);
  JoinRanges(unjoined, &plans, &ranges);
  JoinValues(unjoined, &ranges);
  JoinPcSamples(unjoined);
}

}  // namespace gprof
