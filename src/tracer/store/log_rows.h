// Rows that application threads write into their logs: what all of them have in common. What a row says, and how it
// becomes records, is its collector's to know.
#pragma once

#include <cstdint>

#include "tracer/store/chunk_output.h"
#include "tracer/store/clock.h"

namespace gprof::tracer {

class ThreadLog;

enum class RowType : uint8_t {
  kApi = 1,
  kSync = 2,
  kStream = 3,
  kNvtx = 4,
  kEventRecord = 5,
  kGraphNode = 6,
  kCapture = 7,
  kNvtxPayload = 8,
  kPythonFunction = 12,
  kPythonStack = 13,
  kOsCall = 14,
  kMpiCall = 15,
  kGemm = 16,
  kCollective = 17,
  kDirective = 18,
  kOperator = 19,
  kOperatorEnd = 20,
  kNativeModule = 21,
  kNativeFrame = 22,
  kTensorMemory = 23,
  kNcclTransfer = 24,
  kGpuPause = 25,
  kRequestEvent = 26,
  kEngineStep = 27,
  kStepRequest = 28,
  kGeneratedLines = 29,
  // These three are one word long.
  kNvtxPush = 9,
  kNvtxPop = 10,
  kNvtxMark = 11
};
inline constexpr uint32_t kRowTypes = 30;  // with 0, which is none

// A set of types, as a mask.
template <class... Types>
constexpr uint32_t SetOf(Types... types) {
  static_assert(kRowTypes <= 32);
  return (0u | ... | (1u << static_cast<uint32_t>(types)));
}

// Every row is a multiple of eight bytes long. All but those of one word start with this.
struct RowHeader {
  RowType type;
  uint8_t flags;
  uint16_t words;  // length in 8-byte words, this header included
};

// The header of a row that has nothing behind it but the rest of its struct.
template <class Row>
constexpr RowHeader RowHeaderOf(RowType type) {
  return {type, 0, sizeof(Row) / 8};
}

inline bool IsOneWord(RowType type) { return type >= RowType::kNvtxPush && type <= RowType::kNvtxMark; }
inline uint32_t BytesOf(const RowHeader& row) { return IsOneWord(row.type) ? 8u : row.words * 8u; }

// Where a row comes from and where its records go. `cursor` is handed to the last record that the row becomes: see
// ChunkOutput::Add.
struct RowSource {
  ThreadLog* log;
  Cursor cursor;
  const ClockMap& clock;
  ChunkOutput* output;
};

}  // namespace gprof::tracer
