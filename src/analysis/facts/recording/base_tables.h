// What is known of the time between two windows, where kernels and most calls were not recorded.
#pragma once

#include <cstdint>

#include "gprof/analysis.h"

namespace gprof {

// Waits, launches of graphs and long calls, by function.
Table BaseCallTable(const Trace& trace, uint32_t max_rows);
// Graphs that ran as a whole, by their id.
Table BaseGraphTable(const Trace& trace, uint32_t max_rows);

}  // namespace gprof
