#include "tracer/cupti/calls/api_rows.h"

#include "tracer/capture/work_count.h"
#include "tracer/core/config.h"
#include "tracer/cupti/activity/stream_ids.h"
#include "tracer/cupti/calls/call_counts.h"
#include "tracer/cupti/calls/callbacks.h"
#include "tracer/store/memory/arena.h"
#include "tracer/store/thread_log.h"
#include "tracer/writing/thread_rows.h"

namespace gprof::tracer {
namespace {

uint8_t DomainOfApi(uint8_t domain) {
  return static_cast<uint8_t>(domain == CUPTI_CB_DOMAIN_RUNTIME_API ? trace::ApiDomain::kRuntime
                                                                    : trace::ApiDomain::kDriver);
}

uint32_t StackOf(const ApiRow& row) {
  if (row.header.words < sizeof(ApiRowWithStack) / 8) return 0;
  return reinterpret_cast<const ApiRowWithStack*>(&row)->stack;
}

void AddOfBase(const ApiRow& row, const RowSource& source) {
  const uint64_t start_ns = source.clock.ToNs(row.start), end_ns = source.clock.ToNs(row.end);
  ++row_count.base_calls;
  source.output->Add(
      trace::BaseCallRecord{start_ns, end_ns > start_ns ? end_ns - start_ns : 0, source.log->tid, row.correlation,
                            ApiName(row.domain, row.cbid), row.result, DomainOfApi(row.domain), StackOf(row)},
      source.cursor);
}

void Add(const ApiRow& row, const RowSource& source) {
  if ((row.header.flags & kOutsideOfWindow) != 0) return AddOfBase(row, source);
  if (Config().capture_start == CaptureStart::kWindows) NoteRecordedCall(row.domain, row.cbid);
  const uint64_t start_ns = source.clock.ToNs(row.start);
  const uint64_t end_ns = source.clock.ToNs(row.end);
  source.output->Add(trace::ApiRecord{start_ns, end_ns > start_ns ? end_ns - start_ns : 0, source.log->tid,
                                      row.correlation, ApiName(row.domain, row.cbid), DomainOfApi(row.domain),
                                      row.result, row.is_unfinished, StackOf(row)},
                     source.cursor);
}

void Add(const SyncRow& row, const RowSource& source) {
  trace::SyncRecord r;
  r.start_ns = source.clock.ToNs(row.start);
  const uint64_t end_ns = source.clock.ToNs(row.end);
  r.duration_ns = end_ns > r.start_ns ? end_ns - r.start_ns : 0;
  r.sync_kind = row.kind;
  r.tid = source.log->tid;
  r.correlation = row.correlation;
  r.context = row.context;
  r.stream = row.has_stream ? StreamOfHandle(row.context, row.stream) : 0;
  r.event = row.event;
  source.output->Add(r, source.cursor);
}

void Add(const StreamRow& row, const RowSource& source) {
  trace::StreamRecord r;
  r.created_ns = source.clock.ToNs(row.stamp);
  r.context = row.context;
  r.stream = row.stream;
  r.handle = row.handle;
  source.output->Add(r, source.cursor);
}

void Add(const EventRecordRow& row, const RowSource& source) {
  trace::EventRecordRecord r;
  r.time_ns = source.clock.ToNs(row.stamp);
  r.tid = source.log->tid;
  r.correlation = row.correlation;
  r.context = row.context;
  r.stream = StreamOfHandle(row.context, row.stream);
  r.event = row.event;
  source.output->Add(r, source.cursor);
}

void Add(const GraphNodeRow& row, const RowSource& source) {
  trace::GraphNodeRecord r;
  r.time_ns = source.clock.ToNs(row.stamp);
  r.tid = source.log->tid;
  r.graph = row.graph;
  r.node = row.node;
  r.original = row.original;
  r.node_type = static_cast<uint8_t>(row.node_type);
  r.stack = row.stack;
  r.place = row.place;
  source.output->Add(r, source.cursor);
}

// A call is no longer open when its row is written, so that one that is open now has no row among those taken here.
void TakeOpenCallOf(ThreadLog* log, uint64_t died_ns) {
  TakeRowsOf(log);
  if (log->state.load(std::memory_order_acquire) == LogState::kFree) return;
  const OpenCall& call = log->open_call;
  const uint64_t start = call.start.load(std::memory_order_acquire);
  if (!IsOfThisCapture(start)) return;
  const uint64_t end = is_salvage ? StampClock().ToStamp(died_ns) : Stamp();
  ApiRowWithStack row{{RowHeaderOf<ApiRowWithStack>(RowType::kApi), call.correlation, start, end > start ? end : start,
                       0, call.cbid, call.domain, 1},
                      call.stack,
                      0};
  row.row.header.flags = call.is_of_base ? kOutsideOfWindow : 0;
  AddRow(&row.row.header, log, {});
}

// The thread goes on meanwhile: a call that is another one afterwards was none to tell of.
void TellOpenCallOf(ThreadLog* log, uint32_t look) {
  if (log->state.load(std::memory_order_acquire) == LogState::kFree) return;
  const OpenCall& call = log->open_call;
  const uint64_t start = call.start.load(std::memory_order_acquire);
  if (!IsOfThisCapture(start)) return;
  trace::InProgressRecord r = InProgressOf(log, look, trace::ProgressKind::kCudaCall, start);
  r.name = ApiName(call.domain, call.cbid);
  r.correlation = call.correlation;
  r.stack = call.stack;
  std::atomic_thread_fence(std::memory_order_acquire);
  if (call.start.load(std::memory_order_relaxed) == start && r.name.value != 0) Output().Add(r);
}

}  // namespace

void ConvertApiRow(const RowHeader* row, const RowSource& source) {
  switch (row->type) {
    case RowType::kSync:
      return Add(*reinterpret_cast<const SyncRow*>(row), source);
    case RowType::kStream:
      return Add(*reinterpret_cast<const StreamRow*>(row), source);
    case RowType::kEventRecord:
      return Add(*reinterpret_cast<const EventRecordRow*>(row), source);
    case RowType::kGraphNode:
      return Add(*reinterpret_cast<const GraphNodeRow*>(row), source);
    default:
      return Add(*reinterpret_cast<const ApiRow*>(row), source);
  }
}

void TakeOpenCalls(DrainRound* round) {
  ForEachLog([round](ThreadLog* log) { TakeOpenCallOf(log, round->end.time_ns); });
}

void DrainApiCalls(DrainRound* round) {
  if (round->look != 0) ForEachLog([round](ThreadLog* log) { TellOpenCallOf(log, round->look); });
  if (round->depth == Depth::kEnd) TakeOpenCalls(round);
}

}  // namespace gprof::tracer
