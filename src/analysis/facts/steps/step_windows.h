// How long the steps of a program took, and when they were.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "analysis/facts/calls/call_facts.h"
#include "analysis/facts/steps/step_finder.h"
#include "gprof/trace.h"

namespace gprof {

// "ProfilerStep#7" is the step 7.
std::optional<int64_t> NumberOfStep(std::string_view name);

std::vector<int64_t> DurationsOfSteps(const Trace& trace, const StepChoice& choice);

// Steps longer than this are slow: their median and 5 median absolute deviations.
double SlowFrom(std::vector<int64_t> durations, double* median_ns);

// From the first iteration that is no warm-up to the end of the last one.
std::optional<Interval> SteadyTimeOf(const Trace& trace, const StepChoice& choice);

// The times of the steps of a process, for sums of what began in them. Steps that are slow at the beginning of the run
// are left out. Empty where a trace has no steps.
class StepWindows {
 public:
  StepWindows() = default;
  StepWindows(const Trace& trace, const std::optional<StepChoice>& choice);

  bool Contains(uint32_t process, int64_t time_ns) const;
  int64_t count() const { return static_cast<int64_t>(windows_.size()); }
  int64_t total_ns() const { return total_ns_; }

 private:
  std::vector<Interval> windows_;  // in order, apart
  uint32_t process_ = kNone;
  int64_t total_ns_ = 0;
};

// Something speaks for warm-up in the iterations that began before that time: the process was recorded from its
// beginning, its first step has the number 0 or 1, code was loaded or compiled, or launches took longer than later.
bool IsWarmupEvident(const Trace& trace, const CallFacts& calls, const StepChoice& choice, int64_t until_ns);

}  // namespace gprof
