// Going over a few of many items, which lie anywhere in a long list. The processor does not see where the next one
// lies, so that it would wait for each of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "gprof/trace.h"

namespace gprof {

// How many turns before its own an item is fetched.
inline constexpr size_t kTurnsAhead = 10;

// Of an item on two lines of the cache, as half of them are, both.
template <class Item>
void Prefetch(const Item* item) {
  __builtin_prefetch(item);
  __builtin_prefetch(reinterpret_cast<const char*>(item + 1) - 1);
}

// Calls f(i) for every i below `count`, and far(i), then near(i), some turns before: near() fetches what far() fetched
// the place of.
template <class Far, class Near, class F>
void ForEachAhead(size_t count, Far&& far, Near&& near, F&& f) {
  for (size_t i = 0; i < count; ++i) {
    if (i + 2 * kTurnsAhead < count) far(i + 2 * kTurnsAhead);
    if (i + kTurnsAhead < count) near(i + kTurnsAhead);
    f(i);
  }
}

// Calls f(index) for each of these indexes of the list.
template <class List, class F>
void ForEachOf(const List& list, const std::vector<uint32_t>& indexes, F&& f) {
  const auto fetch = [&](size_t i) { Prefetch(&list.items()[indexes[i]]); };
  ForEachAhead(
      indexes.size(), [](size_t) {}, fetch, [&](size_t i) { f(indexes[i]); });
}

// For calls whose range is looked at as well.
inline void PrefetchCall(const Trace& trace, uint32_t call) {
  if (call != kNone) Prefetch(&trace.api_calls.items()[call]);
}
inline void PrefetchRangeOfCall(const Trace& trace, uint32_t call) {
  const uint32_t range = call == kNone ? kNone : trace.api_calls.items()[call].range;
  if (range != kNone) Prefetch(&trace.ranges.items()[range]);
}

}  // namespace gprof
