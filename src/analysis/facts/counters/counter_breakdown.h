// What a throughput is made of, and the traffic between the units of memory.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "analysis/facts/counters/counter_groups.h"

namespace gprof {

// A throughput is that of its busiest part.
struct ThroughputPart {
  std::string_view throughput;  // compute, memory
  std::string_view part;        // the metric without its suffix: sm__issue_active
  double percent = 0;
};
// The busiest first. Without those that were not collected.
std::vector<ThroughputPart> PartsOf(const KernelCounters& kernel);

// Compute and memory, in % of their peaks. Where only some of their parts were collected, as by the set light, they are
// at least that much.
struct Throughputs {
  std::optional<double> compute, memory;
  bool is_whole = false;
};
Throughputs ThroughputsOf(const KernelCounters& kernel);

struct Traffic {
  std::string_view from, to, what;
  double bytes = 0;
  double bytes_per_second = 0;  // over the time of the kernel; 0 when that is not known
};
// From the SM outwards. Without those that were not collected, and those without traffic.
std::vector<Traffic> TrafficOf(const KernelCounters& kernel);

// What both are made from.
std::span<const std::string_view> BreakdownMetrics();
std::span<const std::string_view> TrafficMetrics();

}  // namespace gprof
