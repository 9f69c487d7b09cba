// Several analyses of one trace at once.
#pragma once

#include <span>
#include <vector>

#include "gprof/analysis.h"

namespace gprof {

// The results in the order of `analyses`. Those of a large trace are made on as many threads as there are cores.
std::vector<AnalysisResult> RunAll(const AnalysisInput& input, std::span<const Analysis* const> analyses,
                                   const AnalysisOptions& options);

}  // namespace gprof
