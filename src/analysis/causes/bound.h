// What the GPU did where there is little idle time to remove: kernels, or copies with no kernel beside them.
#pragma once

#include <string>
#include <vector>

#include "gprof/analysis.h"

namespace gprof {

// Kernels, those of NCCL as well, run most of the time that the run is judged by (`step` as in AnalysisOptions).
bool IsKernelBound(const AnalysisInput& input, const std::string& step);

// Of all devices together. Nothing where neither kernels nor copies take most of the time.
std::vector<Finding> BoundFindings(const AnalysisInput& input, const std::string& step);

}  // namespace gprof
