// Sizes and places in payloads, as far as they are fixed by the layout.
#pragma once

#include <nvtx3/nvToolsExtPayload.h>

#include <cstdint>

namespace gprof::tracer {

// Bytes of one value of a predefined type; 0 for types without a size of their own.
uint32_t BytesOfType(uint64_t type);

// What an entry takes in a payload. `bytes` 0: that is not the same in every payload.
struct Extent {
  uint64_t bytes = 0, alignment = 1;
};
// `nested`: of one value, for an entry whose type is another layout.
Extent ExtentOf(const nvtxPayloadSchemaEntry_t& entry, const Extent& nested);

// Where entries lie one after the other: at their own offset, else where the compiler would put them.
class Walk {
 public:
  Walk(uint64_t schema_type, uint64_t pack_alignment);
  uint64_t Place(const nvtxPayloadSchemaEntry_t& entry, const Extent& extent);
  // The whole; no bytes when it is not fixed.
  Extent Whole() const;

 private:
  bool is_union_;
  bool is_fixed_;
  uint64_t pack_alignment_;
  uint64_t end_ = 0, alignment_ = 1;
};

// How the entry that is an event's message holds its text.
enum class MessageForm : uint8_t { kNone, kInside, kPointer, kRegistered };
MessageForm MessageFormOf(const nvtxPayloadSchemaEntry_t& entry);

}  // namespace gprof::tracer
