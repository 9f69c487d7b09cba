// Strings and launch shapes of one process, by id and by what they are: what an offline writer numbers them with.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "gprof/trace/record.h"

namespace gprof {

// Ids that are spoken for: given in a text form as #12, or by records that define them.
struct ReservedIds {
  std::set<uint32_t> strings, shapes;
};

class Dictionary {
 public:
  explicit Dictionary(const ReservedIds* reserved = nullptr) : reserved_(reserved) {}

  trace::StringId String(std::string_view text);
  // The id within `shape` is not looked at.
  trace::ShapeId Shape(const trace::KernelShapeRecord& shape);

  // Null for an id that was not given out here.
  const std::string* FindString(uint32_t id) const;
  const trace::KernelShapeRecord* FindShape(uint32_t id) const;

 private:
  const ReservedIds* reserved_;
  std::deque<std::string> texts_;  // never moves: the map's keys point in here
  std::unordered_map<std::string_view, uint32_t> string_ids_;
  std::unordered_map<uint32_t, const std::string*> strings_;
  std::map<std::vector<uint64_t>, uint32_t> shape_ids_;
  std::unordered_map<uint32_t, trace::KernelShapeRecord> shapes_;
  uint32_t next_string_ = 1, next_shape_ = 1;
};

}  // namespace gprof
