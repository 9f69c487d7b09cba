// How wide text on a terminal is set.
#pragma once

#include <cstddef>

namespace gprof::cli {

inline constexpr std::size_t kMaxProse = 100;  // longer lines are hard to read, whatever the terminal has room for
inline constexpr std::size_t kMargin = 2;
inline constexpr std::size_t kAnyWidth = 1 << 20;  // of tables with full names

}  // namespace gprof::cli
