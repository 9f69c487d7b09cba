// A loop over millions of items waits for memory more than for anything else. The processor fetches ahead by itself,
// but not far enough where the loop does other things, too.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gprof {

// Each loop has an item fetched that it reaches soon: far enough for the memory, near enough for the first cache, as
// measured. Going past the end of an array in this way does nothing.
template <class T>
void PrefetchForReading(const T* item) {
  constexpr std::size_t kItems = 24;
  __builtin_prefetch(reinterpret_cast<const void*>(reinterpret_cast<uintptr_t>(item) + kItems * sizeof(T)));
}

template <class T>
void PrefetchForWriting(const T* item) {
  constexpr std::size_t kItems = 32;
  __builtin_prefetch(reinterpret_cast<const void*>(reinterpret_cast<uintptr_t>(item) + kItems * sizeof(T)), 1);
}

}  // namespace gprof
