// What waits in the operating system say to the reader: which thread waited for what while the GPU was idle.
#pragma once

#include <vector>

#include "analysis/places/call_places.h"
#include "gprof/analysis.h"

namespace gprof {

class AnalysisInput;

std::vector<Finding> OsFindings(const AnalysisInput& input, CallPlaces* places);

}  // namespace gprof
