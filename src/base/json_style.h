// JSON as all of ours is written. A header alone: what needs no JSON links none.
#pragma once

#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace gprof {

// Keys stay in the order in which they are written.
using Json = nlohmann::ordered_json;

// A whole number where it is one, null where it is none.
inline Json NumberJson(double value) {
  constexpr double kLargestExact = 9007199254740992.0;  // 2^53
  if (!std::isfinite(value)) return nullptr;
  if (value == std::floor(value) && std::fabs(value) < kLargestExact) return static_cast<int64_t>(value);
  return value;
}

// On one line; bytes that are no UTF-8 are replaced.
template <class AnyJson>
std::string CompactText(const AnyJson& json) {
  return json.dump(-1, ' ', false, AnyJson::error_handler_t::replace);
}

}  // namespace gprof
