// What the ranges of each path add up to on the host and while the GPU waited.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/facts/statistics.h"
#include "gprof/analysis.h"

namespace gprof {

struct PathTimes {
  NameId path;
  Statistics times;
  int64_t self_ns = 0;      // less the push/pop ranges directly within, whatever their domain
  int64_t gpu_idle_ns = 0;  // of the GPU that the range's thread uses most
  int64_t lanes = 0;        // how many could be open at a time: threads, and start/end ranges that overlap on one
};

// Longest total time first.
std::vector<PathTimes> TimesByPath(const AnalysisInput& input, Spread spread);

}  // namespace gprof
