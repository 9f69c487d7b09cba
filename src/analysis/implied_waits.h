// Calls that wait for the GPU although their names do not say so: frees, and some allocations.
#pragma once

#include <cstdint>
#include <vector>

#include "gprof/trace.h"

namespace gprof {

// Indices of the calls, in no order (host_waits.h says what counts).
std::vector<uint32_t> ImpliedWaits(const Trace& trace);

}  // namespace gprof
