// Numbers as all our JSON has them. A header alone, as reports in JSON have no gates linked in.
#pragma once

#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>

namespace gprof {

// A whole number where it is one, null where it is none.
inline nlohmann::ordered_json NumberJson(double value) {
  constexpr double kLargestExact = 9007199254740992.0;  // 2^53
  if (!std::isfinite(value)) return nullptr;
  if (value == std::floor(value) && std::fabs(value) < kLargestExact) return static_cast<int64_t>(value);
  return value;
}

}  // namespace gprof
