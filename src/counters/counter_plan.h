// What a collection of kernel counters would take on a chip: metrics, passes, and what the chip lacks.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "counters/host_library.h"

namespace gprof::counters {

// By the names of sets and sections, and words of --metrics (metric_names.h).
struct Wanted {
  std::vector<std::string> sets, sections, metrics;
};

struct Plan {
  std::string chip;
  std::vector<std::string> metrics;          // that the chip has, each once
  std::vector<std::string> unavailable;      // by the first of their names
  std::map<std::string, std::string> meant;  // of those that were named one by one: what they may be slips of
  std::size_t passes = 0, config_bytes = 0;
  std::string problem;  // why there is no plan
};

// Throws Error for an unknown set, section or metric.
Plan PlanOf(const Chip& chip, const Wanted& wanted);

// The metrics by their names on different chips, for a chip that is not known yet. Throws as PlanOf does.
std::vector<std::vector<std::string>> MetricsOf(const Wanted& wanted);

// How long the passes take for a launch, by what an H200 took: replay costs that much whatever the kernel is.
double ReplayMs(std::size_t passes);

}  // namespace gprof::counters
