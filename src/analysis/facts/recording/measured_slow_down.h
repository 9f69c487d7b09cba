// By how much recording slowed a program down, for those who have its windows alone, and in words.
#pragma once

#include <string>
#include <vector>

#include "analysis/facts/recording/recording_cost.h"

namespace gprof {

// Of one process; `rates` in order of time.
MeasuredSlowDown MeasureSlowDown(const std::vector<const WorkRate*>& rates);
// Of all of its time, windows and others, where the shares are known.
PercentInterval OnAverage(const MeasuredSlowDown& measured);
// "measured slow-down 4.1% (95% interval 3.6% to 4.9%, 31 windows)"
std::string SlowDownWords(const MeasuredSlowDown& measured);

}  // namespace gprof
