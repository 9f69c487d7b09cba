// What was found for the records before: neighbours mostly have the same thread and function, or kernel and stream.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "gprof/events.h"
#include "gprof/trace/record.h"
#include "trace/load/bulk.h"

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

// The same of records of one kind, which are alike in what many have in common.
template <class R>
class RecentRows {
 public:
  uint32_t& operator()(uint32_t process, const R& r) {
    typename Traits::Key key{process};
    std::size_t k = 0, n = 1;
    R::Fields(r, [&](const trace::FieldInfo&, const auto& field) {
      if (!kAreCommon<R>[k++]) return;
      if constexpr (requires { field.value; }) {
        key[n++] = field.value;
      } else {
        key[n++] = static_cast<uint64_t>(field);
      }
    });
    if (!traits_) traits_.emplace();
    return (*traits_)(key);
  }

 private:
  using Traits = RecentTraits<1 + std::count(kAreCommon<R>.begin(), kAreCommon<R>.end(), true)>;
  std::optional<Traits> traits_;  // once it is asked for
};

}  // namespace gprof
