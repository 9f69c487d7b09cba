// A loop over millions of items waits for memory more than for anything else.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gprof {

// Has the items that the loop will write in a moment fetched: the processor does that by itself, but not far enough ahead
// where the loop does other things, too. Reading past the end of an array in this way does nothing.
template <class T>
void PrefetchAfter(const T* item) {
  constexpr std::size_t kItems = 32;
  const uintptr_t at = reinterpret_cast<uintptr_t>(item) + kItems * sizeof(T);
  __builtin_prefetch(reinterpret_cast<const void*>(at), 1);
}

}  // namespace gprof
