// What is asked of all numbers of a column at once, with wide registers where the processor has them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "trace/draft.h"

namespace gprof {

// Forbids what not every processor has, so that tests see both ways.
enum class Scan : uint8_t { kWide, kPlain };

// The bits that any of them has.
uint64_t AllBits(const uint64_t* numbers, std::size_t count, Scan scan = Scan::kWide);

// Each is larger than the one before, and none has its highest bit.
bool IsAscending(const uint64_t* numbers, std::size_t count, Scan scan = Scan::kWide);

// Of correlation ids, which are the low halves of the numbers; 0 is none.
CorrelationExtent ExtentOf(const uint64_t* numbers, std::size_t count, Scan scan = Scan::kWide);

}  // namespace gprof
