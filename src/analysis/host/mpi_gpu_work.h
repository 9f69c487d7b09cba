// What an MPI library does on the GPU where it is handed memory of it: copies and kernels started within MPI calls.
#pragma once

#include <cstdint>

#include "gprof/analysis.h"

namespace gprof {

// By function. Without such work the table has no rows.
Table MpiGpuWorkTable(const AnalysisInput& input, uint32_t max_rows);

}  // namespace gprof
