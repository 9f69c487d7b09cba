// Figures that are not what they were.
#pragma once

#include <utility>
#include <vector>

#include "gate/diff/diff.h"

namespace gprof {

struct MetricRules {
  DiffOptions options;
  bool judges_times = false;
};

// Fills `metrics` and the counts of counters. Counters of incomplete runs are not judged: what is missing may be in
// them.
void CompareMetrics(const std::pair<std::vector<const Measurement*>, std::vector<const Measurement*>>& runs,
                    const MetricRules& rules, Diff* diff);

}  // namespace gprof
