// Calls that wait for the GPU although their names do not say so: frees, and some allocations.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/facts/op_facts.h"
#include "gprof/trace.h"

namespace gprof {

// Those of the outermost calls about memory that waited (host_waits.h says what counts).
std::vector<uint32_t> ImpliedWaits(const Trace& trace, const OpFacts& ops, std::span<const uint32_t> memory_calls);

}  // namespace gprof
