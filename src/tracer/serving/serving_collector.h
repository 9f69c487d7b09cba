// Requests and steps of serving engines. Engines tell of them by calls (gprof/trace/serving_calls.h), from hooks in
// Python or by themselves.
#pragma once

#include "tracer/core/collectors.h"
#include "tracer/store/log_rows.h"

namespace gprof::tracer {

struct RequestEventRow {
  RowHeader header;  // flags: RequestEventKind
  trace::StringId name;
  uint64_t stamp, ago_ns;
  uint32_t request, tokens;
};

struct EngineStepRow {
  RowHeader header;
  uint32_t step;
  uint64_t begin, end;  // stamps
  uint64_t requests, waiting, cache_used, cache_blocks;
};

struct StepRequestRow {
  RowHeader header;  // flags: 1 for a part of the prompt
  uint32_t step;
  uint64_t begin;  // stamp of the step
  uint32_t request, tokens, cached, tokens_out;
};

void ResetServingAfterFork();
void ConvertServingRow(const RowHeader* row, const RowSource& source);

inline constexpr Collector kServingCollector = {
    .reset = ResetServingAfterFork,
    .row_types = SetOf(RowType::kRequestEvent, RowType::kEngineStep, RowType::kStepRequest),
    .convert = ConvertServingRow,
};

}  // namespace gprof::tracer
