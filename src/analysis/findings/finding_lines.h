// The line of Python code that a finding is about.
#pragma once

#include <vector>

#include "gprof/analysis.h"

namespace gprof {

// Where most of what a finding is about comes from one line of the program, its subject and its sentence say which.
void NameLines(const AnalysisInput& input, std::vector<AnalysisResult>* results);

}  // namespace gprof
