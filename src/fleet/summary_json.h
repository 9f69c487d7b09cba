// A summary as JSON, which is what a .gpart has of it: keys without a value have the default, unknown ones are skipped.
#pragma once

#include <string>
#include <string_view>

#include "fleet/rank_summary.h"

namespace gprof {

// Keeps figures within what sums of thousands of ranks have room for: a damaged trace may hold any number.
void BoundSummary(RankSummary* rank);

std::string SummaryText(const RankSummary& rank);
// Throws Error, in the name of the file, for what no summary can be.
RankSummary ParseSummary(std::string_view text, const std::string& file);

}  // namespace gprof
