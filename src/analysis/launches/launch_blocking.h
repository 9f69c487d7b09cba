// Launches that wait for their kernels.
#pragma once

#include <vector>

#include "gprof/analysis.h"

namespace gprof {

// Where nearly every launching call lasts until its kernel has ended, as with CUDA_LAUNCH_BLOCKING=1.
void AddLaunchBlocking(const AnalysisInput& input, std::vector<Finding>* findings);

}  // namespace gprof
