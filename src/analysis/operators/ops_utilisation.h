// How much of what the GPUs could compute the steps of a model do, and which operators that leaves out.
#pragma once

#include "analysis/operators/operators.h"
#include "gprof/analysis.h"

namespace gprof {

void AddUtilisation(const AnalysisInput& input, const Operators& operators, const AnalysisOptions& options,
                    AnalysisResult* result);

}  // namespace gprof
