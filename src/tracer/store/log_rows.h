// What application threads write into their logs, and how it becomes records.
#pragma once

#include <cstdint>

#include "gprof/trace/record.h"
#include "tracer/store/chunk_output.h"
#include "tracer/store/clock.h"

namespace gprof::tracer {

enum class RowType : uint8_t {
  kApi = 1,
  kSync = 2,
  kStream = 3,
  kNvtx = 4,
  kEventRecord = 5,
  kGraphNode = 6,
  kCapture = 7,
  kNvtxPayload = 8,
  kNvtxPush = 9,
  kNvtxPop = 10,
  kNvtxMark = 11
};  // these three are NvtxWords

// Every row is a multiple of eight bytes long. All but an NvtxWord start with this.
struct RowHeader {
  RowType type;
  uint8_t flags;
  uint16_t words;  // length in 8-byte words, this header included
};

inline bool IsNvtxWord(RowType type) { return type >= RowType::kNvtxPush; }
inline uint32_t BytesOf(const RowHeader& row) { return IsNvtxWord(row.type) ? 8u : row.words * 8u; }

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

// NVTX rows say when by the difference to the last row that had a whole stamp, as long as 32 bits hold it. Every byte
// of a row costs, because another core reads it.
inline constexpr uint64_t kNoBase = 1ull << 63;  // no stamp is near it

// A push, a pop or a mark with a name that has a number, or none, in one of the first domains: the whole row.
inline constexpr uint32_t kMostWordDomain = 0xFF, kMostWordMessage = 0xFFFF;
struct NvtxWord {
  RowType type;
  uint8_t domain;
  uint16_t message;
  uint32_t since;
};
inline uint64_t Packed(RowType type, uint32_t domain, uint32_t message, uint64_t since) {
  static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the fields of NvtxWord lie in this order");
  return static_cast<uint64_t>(type) | uint64_t{domain} << 8 | uint64_t{message} << 16 | since << 32;
}

// Any event. The flags say what follows, in this order; the event (trace::NvtxEvent) is in the bits above them.
inline constexpr uint8_t kHasRange = 1;    // uint64_t
inline constexpr uint8_t kHasLook = 2;     // NvtxLook
inline constexpr uint8_t kHasPayload = 4;  // NvtxValue
inline constexpr uint8_t kHasText = 8;     // `message` bytes, filled up to whole words
inline constexpr uint8_t kHasStamp = 16;   // uint64_t, and `since` says nothing
inline constexpr int kNvtxEventShift = 5;
struct NvtxRow {
  RowHeader header;
  uint32_t since;
  uint32_t message;  // string id, 0 without a message
  uint32_t domain;
};
struct NvtxLook {
  uint32_t category, color;
};
struct NvtxValue {
  uint64_t payload;
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

// What the writer thread keeps of a log's NVTX rows.
struct NvtxTimes {
  uint64_t last_ns = 0;  // times of a thread never go back
  uint64_t base = 0;     // the last whole stamp
};

// Where a row comes from. `cursor` is handed to the last record that the row becomes: see ChunkWriter::Add.
struct RowSource {
  uint32_t tid;
  NvtxTimes* nvtx;  // of the log
  Cursor cursor;
};

// [writer thread, or salvage]
void ConvertRow(const RowHeader* row, const RowSource& source, const ClockMap& clock, ChunkWriter* writer);

}  // namespace gprof::tracer
