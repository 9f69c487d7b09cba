// Rows of the callbacks of CUDA's API, and how they become records.
#pragma once

#include <cstdint>

#include "tracer/core/collectors.h"
#include "tracer/store/log_rows.h"

namespace gprof::tracer {

struct ApiRow {
  RowHeader header;
  uint32_t correlation;
  uint64_t start, end;  // stamps
  int32_t result;
  uint16_t cbid;
  uint8_t domain;
  uint8_t is_unfinished;
};

// Flag of an ApiRow: the call was entered outside of windows.
inline constexpr uint8_t kOutsideOfWindow = 1;

// The same of a caller whose stack is known: its header says that it is longer.
struct ApiRowWithStack {
  ApiRow row;
  uint32_t stack, unused;
};

// Follows the ApiRow of a synchronising call.
struct SyncRow {
  RowHeader header;
  uint32_t correlation;
  uint64_t start, end;
  uint64_t stream, event;  // handles
  uint32_t context;
  uint8_t kind;
  uint8_t has_stream;
  uint16_t unused;
};

struct StreamRow {
  RowHeader header;
  uint32_t context;
  uint64_t stamp, handle;
  uint32_t stream, unused;
};

// Follows the ApiRow of a call that records an event.
struct EventRecordRow {
  RowHeader header;
  uint32_t correlation;
  uint64_t stamp;
  uint64_t event, stream;  // handles
  uint32_t context, unused;
};

struct GraphNodeRow {
  RowHeader header;
  uint32_t graph;
  uint64_t stamp;
  uint64_t node, original;  // ids
  uint32_t node_type, stack;
  trace::StringId place;
  uint32_t unused;
};

// [writer thread, or salvage]
void ConvertApiRow(const RowHeader* row, const RowSource& source);
// The calls that threads are in when the process ends, or died in.
void TakeOpenCalls(DrainRound* round);
void DrainApiCalls(DrainRound* round);

// The callbacks are switched with the kinds of GPU work (gpu_work.h).
inline constexpr Collector kApiCallCollector = {
    .drain = DrainApiCalls,
    .salvage = TakeOpenCalls,
    .row_types = SetOf(RowType::kApi, RowType::kSync, RowType::kStream, RowType::kEventRecord, RowType::kGraphNode),
    .convert = ConvertApiRow,
};

}  // namespace gprof::tracer
