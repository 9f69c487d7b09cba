// What each line of Python code did with the GPU, and what that cost.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/findings/python_line_sum.h"
#include "gprof/analysis.h"

namespace gprof {

// By index into PythonLines::all(), and at the end of what no line is known of. Empty where no call has a line.
std::vector<PythonLineSum> SumByPythonLine(const AnalysisInput& input);

}  // namespace gprof
