// Searching in order where the last search ended, as walks ask for places that lie close to each other; and the range
// that a range lies in.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "gprof/trace.h"

namespace gprof {

// The first of [0, size) for which is_before(i) is false; it must be true up to there. Looks around `guess` first, in
// steps that double.
template <class F>
size_t PartitionPointNear(size_t size, size_t guess, F&& is_before) {
  size_t low = 0, high = size;
  guess = std::min(guess, size);
  if (guess < size && is_before(guess)) {
    low = guess + 1;
    for (size_t step = 1; low < size; step *= 2) {
      const size_t at = std::min(size - 1, low + step - 1);
      if (!is_before(at)) {
        high = at;
        break;
      }
      low = at + 1;
    }
  } else {
    high = guess;
    for (size_t step = 1; high > 0; step *= 2) {
      const size_t at = high - std::min(high, step);
      if (is_before(at)) {
        low = at + 1;
        break;
      }
      high = at;
    }
  }
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (is_before(middle)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

// kNone: there is none. Ranges come after those that they lie in; a trace that says otherwise is damaged, and must not
// lead around in a circle.
inline uint32_t RangeAround(const Trace& trace, uint32_t range) {
  const uint32_t parent = trace.ranges.items()[range].parent;
  return parent < range ? parent : kNone;
}

}  // namespace gprof
