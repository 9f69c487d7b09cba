// Data that goes to the GPU, comes back, and goes there again.
#pragma once

#include <vector>

#include "gprof/analysis.h"
#include "gprof/trace.h"

namespace gprof {

// A trace does not have the addresses of copies: what it has is that as many bytes go there as came back just before,
// again and again: a large array, or several in a row.
void AddRoundTrips(const AnalysisInput& input, std::vector<Finding>* findings);

}  // namespace gprof
