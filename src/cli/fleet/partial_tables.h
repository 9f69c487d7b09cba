// What a partial has of its ranks as flat tables, for `export`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fleet/rank/rank_summary.h"

namespace gprof::cli {

// Of the ranks of a .gpart file.
std::vector<RankSummary> RanksOf(const std::string& path);

// Files ranks, kernels, copies, calls, idle, steps and collectives. Throws Error for a format that has no tables.
void WritePartialTables(const std::vector<RankSummary>& ranks, std::string_view format, const std::string& folder);

}  // namespace gprof::cli
