// The NVTX ranges of a rank, as its summary has them.
#pragma once

#include <vector>

#include "fleet/rank_summary.h"
#include "gprof/analysis.h"

namespace gprof {

// The most GPU time first, then the most time.
std::vector<RankRange> RangesOf(const AnalysisInput& input);

}  // namespace gprof
