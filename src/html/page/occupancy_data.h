// The occupancy of the kernels of a trace against what they are launched with, for the charts of the page.
#pragma once

#include <string>

#include "gprof/analysis.h"

namespace gprof {

// JSON: {"launched": […], "counted": […]}: kernels that took most of the time, and those with counters in the order of
// the report (null where the launch or the GPU is not known well enough). Empty where there is neither.
std::string OccupancyJson(const AnalysisInput& input);

}  // namespace gprof
