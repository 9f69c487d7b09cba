// The collector of calls of UCX, cuSPARSE and cuFFT. Its wrappers write rows of NVTX, which are drained and salvaged as
// those of programs.
#pragma once

#include "tracer/core/collectors.h"

namespace gprof::tracer {

void StartLibraryCalls();  // [starting thread]

inline constexpr Collector kLibraryCallCollector = {.start = StartLibraryCalls};

}  // namespace gprof::tracer
