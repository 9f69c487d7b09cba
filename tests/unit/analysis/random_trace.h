// Small random traces with everything that makes idle time hard: overlap, several processes, threads and devices,
// calls within calls, ranges that do not nest, clocks that disagree, operations without calls.
#pragma once

#include <cstdint>

#include "gprof/trace.h"

namespace gprof::test {

// The same seed gives the same trace on every machine.
Trace RandomTrace(uint32_t seed);

}  // namespace gprof::test
