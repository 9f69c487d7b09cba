// The names that events of a page refer to: each is demangled, made UTF-8, cut where it is out of all proportion, and
// written once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "export/events/labels.h"
#include "gprof/trace.h"

namespace gprof {

class EventNames {
 public:
  explicit EventNames(const Trace& trace) : labels_(trace) {}

  uint32_t Of(NameId name) { return Number(labels_.Of(name)); }
  uint32_t Of(const GpuOp& op) { return Number(labels_.Of(op)); }
  uint32_t Of(std::string_view text) { return Number(labels_.Of(text)); }

  // Names count from 0.
  const std::vector<std::string>& texts() const { return texts_; }

 private:
  uint32_t Number(uint32_t label);

  Labels labels_;
  std::vector<std::string> texts_;
  std::vector<uint32_t> numbers_;  // by label, kNone where there is none yet
  std::unordered_map<std::string, uint32_t> number_of_text_;
};

// At most `limit` bytes of UTF-8, with … for what is left out of the middle.
std::string CutMiddle(std::string_view text, std::size_t limit);

}  // namespace gprof
