// What was found for the records before: neighbours mostly have the same thread and function, or kernel and stream.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "gprof/events.h"

namespace gprof {

// A table with one place for each hash; what comes to a taken place takes it over.
template <std::size_t kWords>
class RecentTraits {
 public:
  using Key = std::array<uint64_t, kWords>;

  RecentTraits() : entries_(kEntries) {}

  // The value of the key, kNone for one that is new or was forgotten: to be set then.
  uint32_t& operator()(const Key& key) {
    uint64_t hash = 0;
    for (const uint64_t word : key) hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
    Entry& entry = entries_[static_cast<std::size_t>(hash >> (64 - kBits))];
    if (!IsSame(entry.key, key)) entry = {key, kNone};
    return entry.value;
  }

  void Clear() { entries_.assign(kEntries, {}); }

 private:
  struct Entry {
    Key key{};
    uint32_t value = kNone;
  };
  // A comparison of arrays would call memcmp, which takes longer than all else here.
  static bool IsSame(const Key& a, const Key& b) {
    uint64_t difference = 0;
    for (std::size_t i = 0; i < kWords; ++i) difference |= a[i] ^ b[i];
    return difference == 0;
  }
  static constexpr std::size_t kBits = 10, kEntries = 1u << kBits;
  std::vector<Entry> entries_;
};

}  // namespace gprof
