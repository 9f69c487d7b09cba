// The function in which the host was while the GPU was idle, in words for findings.
#pragma once

#include <string>

#include "analysis/findings/findings.h"
#include "gprof/analysis.h"

namespace gprof {

// "; 71% of 471 CPU samples in Draw (program)": the function that most were taken in, or that they are too few to say.
std::string MainFunction(const AnalysisInput& input, const HostGaps& host);

}  // namespace gprof
