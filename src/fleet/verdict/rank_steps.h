// What the GPU of a rank did in each of its steps, or where it has none, in slices of its time.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>

#include "analysis/facts/interval_set.h"
#include "analysis/steps/step_times.h"
#include "fleet/rank_summary.h"
#include "gprof/analysis.h"

namespace gprof {

inline constexpr int64_t kTimeSlices = 128;  // of a rank without steps, whatever the length of its run
inline constexpr std::string_view kTimeSlicesPath = "(slices of time)";  // StepColumns::path of those

// By device, where there are collectives.
struct CollectiveTimes {
  const std::map<uint32_t, IntervalSet>& kernels;  // any kernel ran
  const std::map<uint32_t, IntervalSet>& others;   // one that is no collective
};

struct RankSteps {
  StepColumns columns;
  StepTimes times;  // without iterations where there are only slices
};

RankSteps StepsOf(const AnalysisInput& input, const CollectiveTimes& times);

}  // namespace gprof
