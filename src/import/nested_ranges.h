// Ranges that are known with both their ends, as the push/pop events that the builder pairs again.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "import/foreign_builder.h"

namespace gprof {

struct ClosedRange {
  static constexpr int64_t kOpen = std::numeric_limits<int64_t>::max();
  int64_t start_ns = 0, end_ns = kOpen;  // kOpen: never ended
  uint64_t payload = 0;
  uint32_t process = 0, tid = 0, end_tid = 0;
  uint32_t domain = 0, text = 0;         // text of ForeignBuilder
  uint32_t category = 0, color = 0;
  trace::PayloadType payload_type = trace::PayloadType::kNone;
  bool is_push_pop = true;
};

// Collects ranges in any order. What does not nest in the ranges of its thread and domain becomes a start/end range, so
// that every duration comes out as it came in.
class NestedRanges {
 public:
  void Reserve(std::size_t count) { ranges_.reserve(count); }
  void Add(const ClosedRange& range) { ranges_.push_back(range); }
  // Times have to be those of the trace by now.
  void Finish(ForeignBuilder* builder);

 private:
  void AddGroup(std::size_t first, std::size_t last, ForeignBuilder* builder);
  void AddStartEnd(const ClosedRange& range, ForeignBuilder* builder);

  std::vector<ClosedRange> ranges_;
  uint64_t next_id_ = 1;
};

}  // namespace gprof
