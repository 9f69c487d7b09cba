// Percentages as counter tracks have them: with two digits behind the point.
#pragma once

#include <cmath>
#include <cstdint>

namespace gprof {

inline constexpr int32_t kPercentScale = -2;
inline constexpr double kUnitsAPercent = 100;

inline int64_t PercentUnits(int64_t part, int64_t whole) {
  return whole <= 0 ? 0 : std::llround(static_cast<double>(part) * 100 * kUnitsAPercent / static_cast<double>(whole));
}

}  // namespace gprof
