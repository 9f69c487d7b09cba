// What a counter saw along the launches of a kernel: samples, folded by how much of the launch had passed. Each sample
// sees several parts of launches, or of one; over many launches the parts are told apart, however short the kernel.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "analysis/facts/rates/rate_fit.h"

namespace gprof {

struct PhaseCurve {
  std::vector<Estimate> parts;  // of the same length, from the start of the kernel to its end
  double error = 0;             // root of the mean square of what they may be away from the truth by, in their unit
};

// Of one kernel, a curve for each track; all have the same times. None where launches, or samples, do not resolve at
// least kFewestParts to a twentieth of the peak. `peaks`: of the tracks; 0: the largest value of the curve.
inline constexpr uint32_t kMostParts = 20, kFewestParts = 10;
std::vector<std::optional<PhaseCurve>> PhaseCurves(const RatedTime& time, uint32_t column,
                                                   std::span<const RateTrack> tracks, std::span<const double> peaks,
                                                   const EdgeShift& shift);

}  // namespace gprof
