// A hash table from a pair of numbers to an index: one flat array, no allocation for each entry.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "gprof/trace.h"

namespace gprof {

class FlatIndex {
 public:
  // kNone when the pair has no entry.
  uint32_t Find(uint64_t high, uint64_t low) const {
    if (slots_.empty()) return kNone;
    return slots_[Probe(high, low)].value;
  }

  // The value of the pair, kNone for one that is new. The reference is good until the next call.
  uint32_t& operator()(uint64_t high, uint64_t low) {
    if (2 * (size_ + 1) > slots_.size()) Grow();
    Slot& slot = slots_[Probe(high, low)];
    if (!slot.is_used) {
      slot = Slot{high, low, kNone, true};
      ++size_;
    }
    return slot.value;
  }

  std::size_t size() const { return size_; }

 private:
  struct Slot {
    uint64_t high = 0, low = 0;
    uint32_t value = kNone;
    bool is_used = false;
  };

  std::size_t Probe(uint64_t high, uint64_t low) const {
    uint64_t h = (high + 0x9E3779B97F4A7C15u) * 0xBF58476D1CE4E5B9u;
    h = (h ^ low ^ (h >> 29)) * 0x94D049BB133111EBu;
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = static_cast<std::size_t>(h ^ (h >> 32)) & mask;
    while (slots_[at].is_used && (slots_[at].high != high || slots_[at].low != low)) at = (at + 1) & mask;
    return at;
  }

  void Grow() {
    std::vector<Slot> old(slots_.empty() ? 16 : 2 * slots_.size());
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.is_used) slots_[Probe(slot.high, slot.low)] = slot;
    }
  }

  std::vector<Slot> slots_;
  std::size_t size_ = 0;
};

}  // namespace gprof
