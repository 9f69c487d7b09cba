// What kept the clocks of a GPU down, for how long, and what that cost.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "analysis/facts/recording/clock_reasons.h"
#include "gprof/analysis.h"

namespace gprof {

struct ClockLimit {
  std::string_view name;  // "power limit"
  LimitKind kind;
  int64_t held_ns = 0;              // within the window
  std::optional<int64_t> cost_ns;   // how much longer busy time took than at the highest clock, if it scales with it
  std::optional<double> clock_mhz;  // mean of the SM clock meanwhile
};

struct ClockLimits {
  bool is_known = false;                // whether clocks were held down was sampled
  double median_mhz = 0, most_mhz = 0;  // of the SM clock; 0: not sampled
  std::vector<ClockLimit> limits;       // those that were met, with the longest first

  // Clocks that were set on purpose are not throttled.
  int64_t ThrottledNs(const Interval& window) const;
  int64_t HeldNs(LimitKind kind) const;
  int64_t CostNs(LimitKind kind) const;
};

ClockLimits FindClockLimits(const AnalysisInput& input, uint32_t device, const Interval& window);

// Table gpu_clock_limits of all devices.
Table ClockLimitsTable();
void AddClockLimits(const Trace& trace, uint32_t device, const Interval& window, const ClockLimits& limits,
                    Table* table);

}  // namespace gprof
