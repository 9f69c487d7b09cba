// What application threads write into their logs, and how it becomes records.
#pragma once

#include <cstdint>

#include "clock.h"
#include "gprof/trace/record.h"
#include "writer.h"

namespace gprof::tracer {

enum class RowType : uint8_t { kApi = 1, kSync = 2, kStream = 3, kNvtx = 4, kEventRecord = 5, kGraphNode = 6,
                               kCapture = 7, kNvtxPayload = 8 };

// Every row starts with this and is a multiple of eight bytes long.
struct RowHeader {
  RowType type;
  uint8_t flags;
  uint16_t words;  // length in 8-byte words, this header included
};

struct ApiRow {
  RowHeader header;
  uint32_t correlation;
  uint64_t start, end;  // stamps
  int32_t result;
  uint16_t cbid;
  uint8_t domain;
  uint8_t is_unfinished;
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
  uint32_t node_type, unused;
};

struct CaptureRow {
  RowHeader header;
  uint32_t number;
  uint64_t stamp;
  uint8_t event, trigger;
  uint16_t unused;
  uint32_t also_unused;
};

// Flags of an NVTX row; the event (trace::NvtxEvent) is in the bits from kNvtxEventShift on.
inline constexpr uint8_t kHasAttributes = 1;
inline constexpr uint8_t kHasText = 2;
inline constexpr uint8_t kIsShort = 4;
inline constexpr int kNvtxEventShift = 4;

// A pop says no more than this: every byte of a row costs, because another core reads it.
struct NvtxShortRow {
  RowHeader header;
  uint32_t domain;
  uint64_t stamp;
};

// Then, as the flags say: NvtxAttributes, and text_bytes of text filled up to whole words.
struct NvtxRow {
  NvtxShortRow start;
  uint32_t message;     // string id, 0 with text or without a message
  uint32_t text_bytes;
};

struct NvtxAttributes {
  uint64_t range, payload;
  uint32_t category, color;
  uint32_t payload_type, unused;
};

// Follows the NVTX row whose event it belongs to; its flags are the event. Then data_bytes of data, filled up to whole
// words.
struct NvtxPayloadRow {
  RowHeader header;
  uint32_t domain;
  uint64_t stamp;  // of the event
  uint64_t range, schema;
  uint32_t data_bytes, unused;
};

// Where a row comes from. `cursor` is handed to the last record that the row becomes: see ChunkWriter::Add.
struct RowSource {
  uint32_t tid;
  uint64_t* last_nvtx_ns;  // of the log: NVTX times of a thread never go back
  Cursor cursor;
};

// [writer thread, or salvage]
void ConvertRow(const RowHeader* row, const RowSource& source, const ClockMap& clock, ChunkWriter* writer);

}  // namespace gprof::tracer
