// What idle time with the cause `launch` consists of: three things, of which each asks for something else. And how long
// the host's own code kept the GPU waiting before kernels that ran for the first time, as compilers do.
#pragma once

#include <cstdint>
#include <unordered_set>

#include "analysis/idle/gaps/gaps.h"
#include "gprof/analysis.h"

namespace gprof {

// Kernels that had not run before.
class FirstKernels {
 public:
  explicit FirstKernels(const AnalysisInput& input);
  bool Has(uint32_t op) const { return ops_.contains(op); }
  // A gap long enough for a compiler, after which such a kernel ran at once or soon.
  bool AreAfter(const Gap& gap) const;

 private:
  const AnalysisInput& input_;
  std::unordered_set<uint32_t> ops_;
};

constexpr int64_t kFirstLaunchesOfAPattern =
    3;  // fewer such gaps may be anything that a program does before its next part

struct LaunchSplit {
  int64_t first_ns = 0;  // in long calls that launched their kernel for the first time: its code was loaded
  int64_t firsts = 0;    // such calls
  int64_t call_ns = 0;   // in other launch calls
  int64_t after_ns = 0;  // after the launch call had returned
  int64_t late_ns = 0;   // part of that: where it is more than the latency of a launch
  // In long gaps before kernels that had not run before:
  int64_t host_ns = 0, os_ns = 0;  // of the host's own code, and of its waits in the operating system
  int64_t hosts = 0;               // such gaps
};

// Within that time, of all devices.
LaunchSplit SplitLaunches(const AnalysisInput& input, const Interval& time);

}  // namespace gprof
