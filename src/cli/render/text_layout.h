// How text on a terminal is set.
#pragma once

#include <cstddef>

#include "base/table.h"
#include "gprof/analysis.h"

namespace gprof::cli {

inline constexpr std::size_t kMaxProse = 100;  // longer lines are hard to read, whatever the terminal has room for
inline constexpr std::size_t kMargin = 2;
inline constexpr std::size_t kAnyWidth = 1 << 20;  // of tables with full names

// The table as it is printed: without extra columns that say nothing, and with so many rows, all for 0. `longest_name`:
// see FormatRows.
TextTable TextOf(const Table& table, std::size_t longest_name, std::size_t rows = 0);

}  // namespace gprof::cli
