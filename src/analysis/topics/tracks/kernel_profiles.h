// What sampled counters saw along the launches of the kernels that took the most time.
#pragma once

#include <cstdint>

#include "gprof/analysis.h"

namespace gprof {

// kernel_profiles: a curve for each of those kernels and counters.
Table KernelProfilesTable();
// The rows, and what kernels lose in a tail.
void AddKernelProfiles(const AnalysisInput& input, uint32_t device, const Interval& window, Table* table,
                       AnalysisResult* result);

}  // namespace gprof
