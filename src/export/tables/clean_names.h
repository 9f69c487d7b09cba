// The names of a trace as files have to have them: valid UTF-8 without NUL. Names come from programs, so some are not.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "gprof/trace.h"

namespace gprof {

class CleanNames {
 public:
  explicit CleanNames(const Trace& trace);
  std::string_view operator()(NameId name) const {
    if (cleaned_.empty()) return trace_.Text(name);
    const auto found = cleaned_.find(name.value);
    return found == cleaned_.end() ? trace_.Text(name) : std::string_view(found->second);
  }

 private:
  const Trace& trace_;
  std::unordered_map<uint32_t, std::string> cleaned_;  // those that had to be changed: hardly ever any
};

}  // namespace gprof
