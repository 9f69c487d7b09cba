// What sampled counters say against single kernels: memory at its limit, SMs without work, work that waits, tails.
#pragma once

#include <cstdint>

#include "gprof/analysis.h"

namespace gprof {

void AddKernelFindings(const AnalysisInput& input, uint32_t device, const Interval& window, AnalysisResult* result);

}  // namespace gprof
