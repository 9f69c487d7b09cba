// The part of `idle` that a summary of a rank has.
#pragma once

#include <cstdint>

#include "gprof/analysis.h"

namespace gprof {

// Its metrics and tables that are sums over all gaps: the same as in the result of `idle`, without single gaps,
// start-up and findings, and without what only these need.
AnalysisResult SumIdle(const AnalysisInput& input, uint32_t max_rows);

}  // namespace gprof
