// Samples which instructions the warps of kernels are at, and what they wait for: PC sampling of CUPTI, over the whole
// run. Kernels run as ever. One context of each GPU.
#pragma once

#include "tracer/core/collectors.h"

namespace gprof::tracer {

// Listens to callbacks and starts with the first context. [starting thread]
void StartPcSampling();
void StopPcSampling(StopReason why);
void ResetPcSamplingAfterFork();

}  // namespace gprof::tracer
