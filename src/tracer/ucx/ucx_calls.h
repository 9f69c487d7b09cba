// The collector of calls of UCX. Its wrappers write rows of NVTX, which are drained and salvaged as those of programs.
#pragma once

#include "tracer/core/collectors.h"

namespace gprof::tracer {

void StartUcxCalls();  // [starting thread]

inline constexpr Collector kUcxCallCollector = {.start = StartUcxCalls};

}  // namespace gprof::tracer
