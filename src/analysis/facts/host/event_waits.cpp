#include "analysis/facts/host/event_waits.h"

#include <algorithm>
#include <tuple>

#include "analysis/facts/operations/operations.h"
#include "analysis/facts/time/search_near.h"

namespace gprof {
namespace {

constexpr size_t kMostNodes = 256;  // of a graph: looked at for the one that ends last

}  // namespace

EventTarget TargetOf(const Trace& trace, const EventWait& wait) {
  const uint32_t stream = wait.record == kNone ? kNone : trace.event_records[wait.record].stream;
  if (wait.op == kNone) return {stream, OpKind::kKernel, kNone, Direction::kOther};
  const GpuOp& op = trace.ops[wait.op];
  return {stream, op.kind, op.kind == OpKind::kGraph ? op.graph : op.name.value, DirectionOf(op)};
}

std::string TargetName(const Trace& trace, uint32_t op, bool is_known) {
  if (op != kNone) return OpName(trace, trace.ops[op]);
  return is_known ? "(nothing)" : "(unknown)";
}

EventWaits::EventWaits(const Trace& trace, const OpFacts& ops, const StreamOps& stream_ops)
    : trace_(trace), ops_(ops), stream_ops_(stream_ops), first_wait_(trace.streams.size() + 1, 0) {
  const bool has_events = std::ranges::any_of(trace.syncs, [](const Sync& sync) {
    return sync.kind == trace::SyncKind::kStreamWaitEvent || sync.kind == trace::SyncKind::kEvent;
  });
  if (!has_events) return;
  SortRecords();
  FindLastBefore();
  for (uint32_t i = 0; i < trace.syncs.size(); ++i) {
    const Sync& sync = trace.syncs[i];
    if (sync.kind != trace::SyncKind::kStreamWaitEvent || sync.stream == kNone) continue;
    EventWait wait = Resolve(sync.event, sync.process, sync.start_ns);
    wait.stream = sync.stream;
    wait.sync = i;
    waits_.push_back(wait);
    ++first_wait_[sync.stream + 1];
  }
  for (size_t i = 1; i < first_wait_.size(); ++i) first_wait_[i] += first_wait_[i - 1];
  std::ranges::stable_sort(waits_, {}, &EventWait::stream);
}

std::span<const EventWait> EventWaits::WaitsOf(uint32_t stream) const {
  return std::span(waits_).subspan(first_wait_[stream], first_wait_[stream + 1] - first_wait_[stream]);
}

void EventWaits::SortRecords() {
  records_.reserve(trace_.event_records.size());
  for (uint32_t i = 0; i < trace_.event_records.size(); ++i) {
    const EventRecord& record = trace_.event_records[i];
    records_.push_back({record.process, record.event, record.time_ns, i});
  }
  std::ranges::sort(records_, [](const Record& a, const Record& b) {
    return std::tie(a.process, a.event, a.time_ns, a.index) < std::tie(b.process, b.event, b.time_ns, b.index);
  });
}

EventWait EventWaits::Resolve(uint64_t event, uint32_t process, int64_t time_ns) const {
  EventWait wait;
  wait.time_ns = time_ns;
  const auto after = std::ranges::partition_point(records_, [&](const Record& record) {
    return std::tie(record.process, record.event, record.time_ns) <= std::tie(process, event, time_ns);
  });
  if (after == records_.begin()) return wait;
  const Record& last = *(after - 1);
  if (last.process != process || last.event != event) return wait;
  wait.record = last.index;
  const EventRecord& record = trace_.event_records[last.index];
  if (record.stream == kNone) return wait;
  wait.is_known = true;
  wait.op = last_before_[last.index];
  return wait;
}

// For all at once, as records come in the order of operations or nearly so, and in most loops as far apart as before.
void EventWaits::FindLastBefore() {
  struct Found {
    size_t at = 0, before = 0;
  };
  std::vector<Found> found(trace_.streams.size());
  last_before_.resize(trace_.event_records.size(), kNone);
  for (uint32_t i = 0; i < trace_.event_records.size(); ++i) {
    const EventRecord& record = trace_.event_records[i];
    if (record.stream == kNone) continue;
    Found& last = found[record.stream];
    last = {CountBefore(record, 2 * last.at - last.before), last.at};
    last_before_[i] = LastOf(stream_ops_.OpsOf(record.stream).first(last.at));
  }
}

// How many operations were launched into the stream before the event was recorded there; `near` that many.
size_t EventWaits::CountBefore(const EventRecord& record, size_t guess) const {
  const uint32_t recording = OutermostCall(trace_, record.api);
  const int64_t time_ns = recording == kNone ? record.time_ns : trace_.api_calls[recording].start_ns;
  const std::span<const uint32_t> ops = stream_ops_.OpsOf(record.stream);
  return PartitionPointNear(ops.size(), guess, [&](size_t i) { return ops_.LaunchNs(ops[i]) < time_ns; });
}

// Streams run in order, but for the nodes of a graph: of those the one that ends last.
uint32_t EventWaits::LastOf(std::span<const uint32_t> ops) const {
  uint32_t best = kNone;
  for (size_t at = ops.size(), looked = 0; at != 0 && looked < kMostNodes; --at, ++looked) {
    const uint32_t op = ops[at - 1];
    if (best == kNone || trace_.ops[op].end_ns > trace_.ops[best].end_ns) best = op;
    if (trace_.ops[op].graph == 0) break;
  }
  return best;
}

}  // namespace gprof
