// What a rank has more of than the median of the ranks that should be like it.
#pragma once

#include <cstdint>
#include <vector>

#include "fleet/verdict/fleet_verdict.h"

namespace gprof {

// Fills in what is above the median of these ranks, and whether a rank stands out among them.
void CompareRanks(const std::vector<RankVerdict*>& ranks);

int64_t CopiedBytes(const RankSummary& rank);

}  // namespace gprof
