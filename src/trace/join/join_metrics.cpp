#include <algorithm>
#include <tuple>

#include "trace/join/join.h"
#include "trace/join/kept_records.h"
#include "trace/load/order.h"
#include "trace/model/saturating_time.h"
#include "trace/text/enum_or.h"

namespace gprof {
namespace {

// Devices are numbered later: until then that of a source is an ordinal in its process.
void JoinSources(UnjoinedTrace& unjoined, NumberedThings* sources) {
  Trace& t = unjoined.trace;
  const ProcessesByPid by_pid(unjoined);
  for (const auto& [writer, r] : TakeKept<trace::MetricSourceRecord>(unjoined)) {
    if (!sources->Add(writer, r.id, t.metric_sources.size())) continue;
    MetricSource s;
    s.time_ns = TimeNs(r.time_ns);
    s.period_ns = TimeNs(r.period_ns);
    s.scope = EnumOr(r.scope, trace::MetricScope::kDevice, trace::MetricScope::kNone);
    s.process = by_pid.Find(writer, r.pid, s.time_ns);
    if (s.scope == trace::MetricScope::kThread) s.thread = by_pid.ThreadOf(s.process, r.tid);
    if (s.scope == trace::MetricScope::kDevice) s.device = r.device;
    s.pid = r.pid == 0 && s.process != kNone ? t.processes[s.process].pid : r.pid;
    s.name = unjoined.Name(writer, r.name);
    s.unit = unjoined.Name(writer, r.unit);
    s.origin = unjoined.Name(writer, r.origin);
    s.device_uuid = unjoined.Name(writer, r.device_uuid);
    s.scale = r.scale;
    s.metric_kind = EnumOr(r.metric_kind, trace::MetricKind::kRate, trace::MetricKind::kUnknown);
    t.metric_sources.push_back(s);
  }
}

void JoinSamples(UnjoinedTrace& unjoined, NumberedThings* sources) {
  Trace& t = unjoined.trace;
  for (const auto& [writer, r] : TakeKept<trace::MetricBlockRecord>(unjoined)) {
    MetricSample s;
    s.start_ns = TimeNs(r.start_ns);
    s.end_ns = EndNs(r.start_ns, r.duration_ns);
    s.value = r.value;
    s.source = sources->Find(writer, r.source);
    if (s.source != kNone) t.metric_samples.push_back(s);
  }
  std::stable_sort(t.metric_samples.begin(), t.metric_samples.end(), [](const MetricSample& a, const MetricSample& b) {
    return std::tie(a.source, a.start_ns) < std::tie(b.source, b.start_ns);
  });
}

void JoinLosses(UnjoinedTrace& unjoined, NumberedThings* sources) {
  Trace& t = unjoined.trace;
  for (const auto& [writer, r] : TakeKept<trace::MetricLossRecord>(unjoined)) {
    MetricLoss loss;
    loss.start_ns = TimeNs(r.start_ns);
    loss.end_ns = EndNs(r.start_ns, r.duration_ns);
    loss.count = r.count;
    loss.source = sources->Find(writer, r.source);
    loss.reason = EnumOr(r.reason, trace::MetricLossReason::kPaused, trace::MetricLossReason::kUnknown);
    t.metric_losses.push_back(loss);
  }
  SortNearlySorted(t.metric_losses.begin(), t.metric_losses.end(),
                   [](const MetricLoss& a, const MetricLoss& b) { return a.start_ns < b.start_ns; });
}

}  // namespace

void JoinMetrics(UnjoinedTrace& unjoined) {
  NumberedThings sources(unjoined);
  JoinSources(unjoined, &sources);
  JoinSamples(unjoined, &sources);
  JoinLosses(unjoined, &sources);
}

}  // namespace gprof
