// Numbers for ranks that nobody numbered: people talk of rank 3, not of a file of 80 letters.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fleet/rank/rank_summary.h"

namespace gprof {

// RankSummary::rank_source of ranks that are numbered here.
inline constexpr std::string_view kByFileNames = "file names", kByOrderOfFiles = "order of file names";

// Where no rank has a number: the number that tells the names of their files apart, "rank_12" before others, else their
// place in the order of those names, in which 10 comes after 9. Files of one process have one number.
void NumberRanks(std::vector<RankSummary>* ranks);

// Numbers in names count as numbers.
bool IsBeforeByNumbers(std::string_view a, std::string_view b);

}  // namespace gprof
