// What is asked of all numbers of a column at once, with wide registers where the processor has them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "trace/builder/unjoined.h"

namespace gprof {

// Forbids what not every processor has, so that tests see both ways.
enum class Scan : uint8_t { kWide, kPlain };

// The bits that any of them has.
uint64_t AllBits(const uint64_t* numbers, std::size_t count, Scan scan = Scan::kWide);

// How many at the beginning have not their highest bit, and are larger than the one before.
std::size_t CountAscending(const uint64_t* numbers, std::size_t count, Scan scan = Scan::kWide);

inline bool IsAscending(const uint64_t* numbers, std::size_t count, Scan scan = Scan::kWide) {
  return CountAscending(numbers, count, scan) == count;
}

// Of correlation ids, which are the low halves of the numbers; 0 is none.
CorrelationExtent ExtentOf(const uint64_t* numbers, std::size_t count, Scan scan = Scan::kWide);

}  // namespace gprof
