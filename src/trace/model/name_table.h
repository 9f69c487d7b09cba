// Texts of all processes in one table, each once.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gprof/trace.h"

namespace gprof {

class NameTable {
 public:
  NameTable() : strings_(1) {}

  NameId Intern(std::string_view text);
  // A name of its own, whatever its text: two processes' missing ids are not one name.
  NameId AddUnique(std::string text);
  void Replace(NameId id, std::string_view text) { strings_[id.value] = text; }

  std::string_view Text(NameId id) const { return strings_[id.value]; }
  std::size_t size() const { return strings_.size(); }
  std::vector<std::string> Take() { return std::move(strings_); }

 private:
  struct Slot {
    uint64_t hash = 0;
    uint32_t id = 0;  // 0: free, as the empty text is never looked up
  };
  std::size_t Probe(uint64_t hash, std::string_view text) const;
  void Grow();

  std::vector<std::string> strings_;
  std::vector<Slot> slots_;
  std::size_t used_ = 0;
};

}  // namespace gprof
