// The stacks of CPU samples as one tree, for the flame graph of the page.
#pragma once

#include <string>

#include "gprof/analysis.h"

namespace gprof {

// JSON: {"names": […], "nodes": [[parent, name, samples, samples while a GPU was idle because of the host], …]}.
// Callers come before what they call; the parent of the outermost ones is -1. Empty without samples.
std::string FlameJson(const AnalysisInput& input);

}  // namespace gprof
