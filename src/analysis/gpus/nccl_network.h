// What NCCL's proxy threads sent and received through the network, and what that waited for.
#pragma once

#include <cstdint>

#include "gprof/analysis.h"
#include "gprof/trace.h"

namespace gprof {

Table NcclNetworkTable(const Trace& trace, uint32_t max_rows);

}  // namespace gprof
