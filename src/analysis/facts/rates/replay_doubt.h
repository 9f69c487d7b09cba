// What the interval of a rate has to allow for besides the scatter of samples.
#pragma once

#include <algorithm>
#include <optional>
#include <string_view>

#include "analysis/facts/rates/rate_fit.h"

namespace gprof {

// Samples do not show in what they differ from counters of a kernel by itself, whose caches and neighbours are others.
// Of 28 kernels on an H200 (101 values), 9 in 10 were within this of what replaying them gave. Clocks are read
// directly.
inline std::optional<Estimate> WithReplayDoubt(const std::optional<Estimate>& estimate, std::string_view unit) {
  constexpr double kOfValue = 0.05, kOfPeakPercent = 1;
  if (!estimate || unit == "MHz") return estimate;
  const double doubt = kOfValue * estimate->value + (unit == "%" ? kOfPeakPercent : 0);
  const Estimate doubted = {estimate->value, std::max(estimate->low - doubt, 0.0), estimate->high + doubt};
  // More than there is, whatever the doubt, belongs to work that could not be told from it.
  return unit == "%" && doubted.low > 100 ? std::nullopt : std::optional(doubted);
}

}  // namespace gprof
