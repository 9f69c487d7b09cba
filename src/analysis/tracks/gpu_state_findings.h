// What samples of a GPU say beside their means: clocks that were held down, kernels that wait while they occupy the
// GPU, memory at its limit, PCIe traffic of nobody known, processes of others.
#pragma once

#include "gprof/analysis.h"

namespace gprof {

// Metric gpu.throttled_ns, and the findings.
void AddGpuStateFindings(const AnalysisInput& input, AnalysisResult* result);

}  // namespace gprof
