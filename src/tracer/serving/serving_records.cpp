// Rows of requests and steps become records. [writer thread, or salvage]
#include "gprof/trace/record.h"
#include "tracer/serving/serving_collector.h"
#include "tracer/store/thread_log.h"

namespace gprof::tracer {
namespace {

uint64_t Since(uint64_t later, uint64_t earlier) { return later > earlier ? later - earlier : 0; }

void AddEvent(const RequestEventRow& row, const RowSource& source) {
  trace::RequestEventRecord r;
  r.time_ns = Since(source.clock.ToNs(row.stamp), row.ago_ns);
  r.tid = source.log->tid;
  r.request = row.request;
  r.event = row.header.flags;
  r.tokens = row.tokens;
  r.name = row.name;
  source.output->Add(r, source.cursor);
}

void AddStep(const EngineStepRow& row, const RowSource& source) {
  trace::EngineStepRecord r;
  r.start_ns = source.clock.ToNs(row.begin);
  r.duration_ns = Since(source.clock.ToNs(row.end), r.start_ns);
  r.tid = source.log->tid;
  r.step = row.step;
  r.requests = row.requests;
  r.waiting = row.waiting;
  r.cache_used = row.cache_used;
  r.cache_blocks = row.cache_blocks;
  source.output->Add(r, source.cursor);
}

void AddStepRequest(const StepRequestRow& row, const RowSource& source) {
  trace::StepRequestRecord r;
  r.time_ns = source.clock.ToNs(row.begin);
  r.step = row.step;
  r.request = row.request;
  r.tokens = row.tokens;
  r.cached = row.cached;
  r.tokens_out = row.tokens_out;
  r.is_prefill = row.header.flags;
  source.output->Add(r, source.cursor);
}

}  // namespace

void ConvertServingRow(const RowHeader* row, const RowSource& source) {
  if (row->type == RowType::kRequestEvent) return AddEvent(*reinterpret_cast<const RequestEventRow*>(row), source);
  if (row->type == RowType::kEngineStep) return AddStep(*reinterpret_cast<const EngineStepRow*>(row), source);
  AddStepRequest(*reinterpret_cast<const StepRequestRow*>(row), source);
}

}  // namespace gprof::tracer
