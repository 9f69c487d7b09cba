// The counters that PM sampling takes, by the names that Nsight Systems has for them, and how the chip calls them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gprof/trace/record.h"

namespace gprof::pm {

struct Counter {
  std::string name, unit;
  std::string metric;  // of the chip
  trace::MetricKind kind = trace::MetricKind::kRate;
  int32_t scale = 0;  // a stored value times ten to the power of this is in the unit
  double factor = 1;  // what CUPTI answers, times this, is what is stored
};

// What is wanted: several names of the chip for one counter, the first that it has is taken.
struct Wanted {
  std::vector<Counter> candidates;
};

// Names of sets: "default", "kernels" (what tells most of a single kernel), "dram", "compute", "link". Their counters
// come by importance: where not all fit, those at the end are dropped.
std::span<const std::string_view> SetNames();
// Empty where there is no such set.
std::vector<Wanted> SetOf(std::string_view name);
// Names of metrics of the chip, as Nsight Compute has them.
std::vector<Wanted> WantedOf(const std::vector<std::string>& metrics);

}  // namespace gprof::pm
