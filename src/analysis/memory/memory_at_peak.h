// What stood in the memory of each GPU when most of it was in use.
#pragma once

#include <cstdint>
#include <vector>

#include "gprof/analysis.h"

namespace gprof {

// `ended`: of EndedBlocks(). By the line of Python that allocated it, else by function and NVTX range, and by size.
Table AtPeakTable(const AnalysisInput& input, const std::vector<uint32_t>& ended, uint32_t max_rows);

}  // namespace gprof
