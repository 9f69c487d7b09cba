// How much memory of its GPUs a rank had in use at most.
#pragma once

#include "fleet/rank_summary.h"
#include "gprof/analysis.h"

namespace gprof {

RankMemory MemoryOf(const AnalysisInput& input);

}  // namespace gprof
