// Kernels whose first launch waits for pages of managed memory, where migrations were not recorded.
#pragma once

#include <vector>

#include "gprof/analysis.h"

namespace gprof {

class AnalysisInput;

void AddFirstTouchFinding(const AnalysisInput& input, std::vector<Finding>* findings);

}  // namespace gprof
