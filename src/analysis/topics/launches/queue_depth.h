// How much work a device had: operations launched and not finished, over time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "gprof/analysis.h"

namespace gprof {

struct QueueDepth {
  static constexpr size_t kLevels = 9;  // 0, 1, 2, 3–4, 5–8, …: bounded, so that the times of two traces can be added

  static std::string_view LevelName(size_t level);
  static size_t LevelOf(int64_t depth);

  int64_t TotalNs() const;
  void Add(const QueueDepth& other);

  std::array<int64_t, kLevels> time_ns{};
  int64_t max = 0;
};

// From the first operation of the device to the end of its last, less what was not recorded. An operation counts from
// the entry of the call that launched it; one without a call from its start.
QueueDepth QueueDepthOf(const AnalysisInput& input, uint32_t device);

}  // namespace gprof
