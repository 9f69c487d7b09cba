// What is to be delayed, and by how much, planned on a run without delays.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "analysis/facts/delays/program_progress.h"
#include "analysis/facts/delays/things.h"
#include "gprof/analysis.h"

namespace gprof {

struct PlannedThing {
  ThingUse use;
  double instances_per_unit = 0;
  std::vector<int64_t> delays_ns;  // of an instance
};

struct PlannedDelays {
  double unit_ns = 0;  // of progress
  int64_t window_ns = 0;
  std::vector<PlannedThing> things;

  // In which every delay of every thing comes once, and after each a window without.
  int64_t RoundNs() const;
};

// `is_wanted` chooses the things; without it, those that may matter: launches, copies, waits, the largest kernels and
// ranges. `lines` as for UsesIn.
PlannedDelays PlanDelays(const AnalysisInput& input, const ProgramProgress& progress,
                         const std::function<bool(const ThingUse&)>& is_wanted,
                         const std::vector<std::string>& lines = {});

// As the tracer reads it (gprof/trace/delay_request.h).
std::string DelayRequest(const PlannedDelays& plan, uint64_t seed);

}  // namespace gprof
