// Times that cannot overflow: a damaged or hostile trace may hold any number.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "base/saturate.h"

namespace gprof {

// 36 years of uptime: later than any real time, and far enough from the limit that sums and differences of a few fit.
inline constexpr uint64_t kMaxTimeNs = uint64_t{1} << 60;

constexpr int64_t TimeNs(uint64_t ns) { return static_cast<int64_t>(std::min(ns, kMaxTimeNs)); }
constexpr int64_t EndNs(uint64_t start_ns, uint64_t duration_ns) {
  return TimeNs(AddSaturating(start_ns, duration_ns));
}

// CUPTI reports 0, or an end before the start, when it ran out of room for time stamps; the difference of the latter is
// a huge duration here.
constexpr bool HasTimes(uint64_t start_ns, uint64_t duration_ns) {
  return start_ns != 0 && start_ns <= kMaxTimeNs && duration_ns <= kMaxTimeNs;
}

// From the first time of some records to the last. A time of 0 is not known.
struct TimeExtent {
  int64_t first_ns = std::numeric_limits<int64_t>::max(), last_ns = 0;
  void Add(uint64_t start_ns, uint64_t end_ns) {
    if (start_ns > 0) first_ns = std::min(first_ns, static_cast<int64_t>(start_ns));
    last_ns = std::max(last_ns, static_cast<int64_t>(end_ns));
  }
  void Add(const TimeExtent& other) {
    first_ns = std::min(first_ns, other.first_ns);
    last_ns = std::max(last_ns, other.last_ns);
  }
};

}  // namespace gprof
