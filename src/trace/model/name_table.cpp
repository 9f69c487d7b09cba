#include "trace/model/name_table.h"

#include <functional>
#include <utility>

namespace gprof {

NameId NameTable::Intern(std::string_view text) {
  if (text.empty()) return {};
  if (2 * (used_ + 1) > slots_.size()) Grow();
  const uint64_t hash = std::hash<std::string_view>{}(text);
  Slot& slot = slots_[Probe(hash, text)];
  if (slot.id == 0) {
    slot = Slot{hash, static_cast<uint32_t>(strings_.size())};
    strings_.emplace_back(text);
    ++used_;
  }
  return {slot.id};
}

NameId NameTable::AddUnique(std::string text) {
  strings_.push_back(std::move(text));
  return {static_cast<uint32_t>(strings_.size() - 1)};
}

std::size_t NameTable::Probe(uint64_t hash, std::string_view text) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = static_cast<std::size_t>(hash) & mask;
  while (slots_[at].id != 0 && (slots_[at].hash != hash || strings_[slots_[at].id] != text)) at = (at + 1) & mask;
  return at;
}

void NameTable::Grow() {
  std::vector<Slot> old(slots_.empty() ? 64 : 2 * slots_.size());
  old.swap(slots_);
  for (const Slot& slot : old) {
    if (slot.id != 0) slots_[Probe(slot.hash, strings_[slot.id])] = slot;
  }
}

}  // namespace gprof
