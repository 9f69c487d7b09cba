// What the rows of NVTX handlers look like in the log of a thread.
#pragma once

#include <cstdint>

#include "tracer/store/log_rows.h"

namespace gprof::tracer {

// NVTX rows say when by the difference to the last row that had a whole stamp (ThreadLog::nvtx_base), as long as 32
// bits hold it. Every byte of a row costs, because another core reads it.

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

}  // namespace gprof::tracer
