// How the work of each GPU went over time: in equal slices of its window.
#pragma once

#include <vector>

#include "gprof/analysis.h"

namespace gprof {

// For each used device ten slices from its first to its last operation (or of the time that was selected): how busy it
// was, operations launched a second, and how many were launched and not finished on average. Pauses between captures
// are no exception: nothing happened in them.
Table LaunchesOverTime(const AnalysisInput& input);

}  // namespace gprof
