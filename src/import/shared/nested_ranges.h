// Ranges that are known with both their ends, as the push/pop events that the builder pairs again.
#pragma once

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "import/shared/foreign_builder.h"
#include "import/shared/json_payload.h"

namespace gprof {

struct ClosedRange {
  static constexpr int64_t kOpen = std::numeric_limits<int64_t>::max();
  int64_t start_ns = 0, end_ns = kOpen;  // kOpen: never ended
  uint64_t payload = 0;
  uint32_t process = 0, tid = 0, end_tid = 0;
  uint32_t domain = 0, text = 0;  // text of ForeignBuilder
  uint32_t category = 0, color = 0;
  trace::PayloadType payload_type = trace::PayloadType::kNone;
  bool is_push_pop = true;
  uint32_t attached = kNone;  // what NestedRanges::Attach returned
};

// Collects ranges in any order. What does not nest in the ranges of its thread and domain becomes a start/end range, so
// that every duration comes out as it came in.
class NestedRanges {
 public:
  void Reserve(std::size_t count) { ranges_.reserve(count); }
  void Add(const ClosedRange& range) { ranges_.push_back(range); }
  // Keeps what a range has beside its number, until the range is made an event.
  uint32_t Attach(JsonPayloads::Payload payload) {
    attached_.push_back(std::move(payload));
    return static_cast<uint32_t>(attached_.size() - 1);
  }
  // Times have to be those of the trace by now.
  void Finish(ForeignBuilder* builder);

 private:
  void AddGroup(std::size_t first, std::size_t last, ForeignBuilder* builder);
  void AddStartEnd(const ClosedRange& range, ForeignBuilder* builder);
  void AddBegin(const ClosedRange& range, trace::NvtxEvent event, uint64_t id, ForeignBuilder* builder);

  std::vector<ClosedRange> ranges_;
  std::vector<JsonPayloads::Payload> attached_;
  uint64_t next_id_ = 1;
};

}  // namespace gprof
