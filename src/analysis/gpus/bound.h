// What the GPU did where there is little idle time to remove: kernels, or copies with no kernel beside them.
#pragma once

#include <vector>

#include "gprof/analysis.h"

namespace gprof {

// Kernels run most of the window.
bool IsKernelBound(const AnalysisInput& input);

// Of all devices together. Nothing where neither kernels nor copies take most of the time.
std::vector<Finding> BoundFindings(const AnalysisInput& input);

}  // namespace gprof
