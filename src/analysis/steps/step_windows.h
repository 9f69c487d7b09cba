// The times of the steps of a process, for sums of what began in them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/idle/gaps/gaps.h"
#include "gprof/analysis.h"

namespace gprof {

// Steps that are slow at the beginning of the run are left out. Empty where a trace has no steps.
class StepWindows {
 public:
  StepWindows() = default;
  StepWindows(const AnalysisInput& input, const std::string& wanted);

  bool Contains(uint32_t process, int64_t time_ns) const;
  int64_t count() const { return static_cast<int64_t>(windows_.size()); }
  int64_t total_ns() const { return total_ns_; }

 private:
  std::vector<Interval> windows_;  // in order, apart
  uint32_t process_ = kNone;
  int64_t total_ns_ = 0;
};

}  // namespace gprof
