#include "analysis/event_waits.h"

#include <algorithm>
#include <tuple>

#include "analysis/calls.h"

namespace gprof {
namespace {

constexpr size_t kMostNodes = 256;  // of a graph: looked at for the one that ends last

// Numbers of the first of each stream from their counts: counts[i] is how many stream i - 1 has.
void SumUp(std::vector<uint32_t>* counts) {
  for (size_t i = 1; i < counts->size(); ++i) (*counts)[i] += (*counts)[i - 1];
}

}  // namespace

EventTarget TargetOf(const Trace& trace, const EventWait& wait) {
  const uint32_t stream = wait.record == kNone ? kNone : trace.event_records[wait.record].stream;
  if (wait.op == kNone) return {stream, OpKind::kKernel, kNone, Direction::kOther};
  const GpuOp& op = trace.ops[wait.op];
  return {stream, op.kind, op.kind == OpKind::kGraph ? op.graph : op.name.value, DirectionOf(op)};
}

std::string TargetName(const Trace& trace, uint32_t op, bool is_known) {
  if (op != kNone) return OpName(trace, trace.ops[op]);
  return is_known ? "(nothing)" : "(not known)";
}

EventWaits::EventWaits(const Trace& trace)
    : trace_(trace), first_op_(trace.streams.size() + 1, 0), first_wait_(trace.streams.size() + 1, 0) {
  const bool has_events = std::any_of(trace.syncs.begin(), trace.syncs.end(), [](const Sync& sync) {
    return sync.kind == trace::SyncKind::kStreamWaitEvent || sync.kind == trace::SyncKind::kEvent;
  });
  if (!has_events) return;
  SortRecords();
  ListOperations();
  for (uint32_t i = 0; i < trace.syncs.size(); ++i) {
    const Sync& sync = trace.syncs[i];
    if (sync.kind != trace::SyncKind::kStreamWaitEvent || sync.stream == kNone) continue;
    EventWait wait = Resolve(sync.event, sync.process, sync.start_ns);
    wait.stream = sync.stream;
    wait.sync = i;
    waits_.push_back(wait);
    ++first_wait_[sync.stream + 1];
  }
  SumUp(&first_wait_);
  std::stable_sort(waits_.begin(), waits_.end(),
                   [](const EventWait& a, const EventWait& b) { return a.stream < b.stream; });
}

std::span<const EventWait> EventWaits::Of(uint32_t stream) const {
  return std::span(waits_).subspan(first_wait_[stream], first_wait_[stream + 1] - first_wait_[stream]);
}

std::span<const uint32_t> EventWaits::OperationsOf(uint32_t stream) const {
  return std::span(ops_).subspan(first_op_[stream], first_op_[stream + 1] - first_op_[stream]);
}

void EventWaits::SortRecords() {
  records_.reserve(trace_.event_records.size());
  for (uint32_t i = 0; i < trace_.event_records.size(); ++i) {
    const EventRecord& record = trace_.event_records[i];
    records_.push_back({record.process, record.event, record.time_ns, i});
  }
  std::sort(records_.begin(), records_.end(), [](const Record& a, const Record& b) {
    return std::tie(a.process, a.event, a.time_ns, a.index) < std::tie(b.process, b.event, b.time_ns, b.index);
  });
}

void EventWaits::ListOperations() {
  for (const GpuOp& op : trace_.ops) {
    if (op.stream != kNone) ++first_op_[op.stream + 1];
  }
  SumUp(&first_op_);
  ops_.resize(first_op_.back());
  std::vector<uint32_t> next(first_op_.begin(), first_op_.end() - 1);
  for (uint32_t i = 0; i < trace_.ops.size(); ++i) {
    if (trace_.ops[i].stream != kNone) ops_[next[trace_.ops[i].stream]++] = i;
  }
}

EventWait EventWaits::Resolve(uint64_t event, uint32_t process, int64_t time_ns) const {
  EventWait wait;
  wait.time_ns = time_ns;
  const auto after = std::partition_point(records_.begin(), records_.end(), [&](const Record& record) {
    return std::tie(record.process, record.event, record.time_ns) <= std::tie(process, event, time_ns);
  });
  if (after == records_.begin()) return wait;
  const Record& last = *(after - 1);
  if (last.process != process || last.event != event) return wait;
  wait.record = last.index;
  const EventRecord& record = trace_.event_records[last.index];
  if (record.stream == kNone) return wait;
  wait.is_known = true;
  wait.op = LastBefore(record);
  return wait;
}

int64_t EventWaits::LaunchNs(uint32_t op) const {
  const uint32_t call = OutermostCall(trace_, trace_.ops[op].api);
  return call == kNone ? trace_.ops[op].start_ns : trace_.api_calls[call].start_ns;
}

// Streams run in order, but for the nodes of a graph: of those the one that ends last.
uint32_t EventWaits::LastBefore(const EventRecord& record) const {
  const uint32_t recording = OutermostCall(trace_, record.api);
  const int64_t time_ns = recording == kNone ? record.time_ns : trace_.api_calls[recording].start_ns;
  const auto begin = ops_.begin() + first_op_[record.stream], end = ops_.begin() + first_op_[record.stream + 1];
  const auto after = std::partition_point(begin, end, [&](uint32_t op) { return LaunchNs(op) < time_ns; });
  uint32_t best = kNone;
  size_t looked = 0;
  for (auto at = after; at != begin && looked < kMostNodes; --at, ++looked) {
    const uint32_t op = *(at - 1);
    if (best == kNone || trace_.ops[op].end_ns > trace_.ops[best].end_ns) best = op;
    if (trace_.ops[op].graph == 0) break;
  }
  return best;
}

}  // namespace gprof
