// Measured worths as a table, for `report` and `what-if` alike.
#pragma once

#include <vector>

#include "analysis/facts/delays/worth.h"
#include "gprof/analysis.h"

namespace gprof {

std::string_view WordOf(WorthVerdict verdict);
Table WorthTable(const std::vector<Worth>& worths);

}  // namespace gprof
