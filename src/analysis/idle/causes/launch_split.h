// What idle time with the cause `launch` consists of: three things, of which each asks for something else. And how long
// the host's own code kept the GPU waiting before kernels that ran for the first time, as compilers do.
#pragma once

#include <cstdint>

#include "gprof/analysis.h"

namespace gprof {

struct LaunchSplit {
  int64_t first_ns = 0;  // in long calls that launched their kernel for the first time: its code was loaded
  int64_t firsts = 0;    // such calls
  int64_t call_ns = 0;   // in other launch calls
  int64_t after_ns = 0;  // after the launch call had returned
  int64_t late_ns = 0;   // part of that: where it is more than the latency of a launch
  int64_t host_ns = 0;   // of the host's own code, in long gaps that a kernel ended which had not run before
  int64_t hosts = 0;     // such gaps
};

// Within that time, of all devices.
LaunchSplit SplitLaunches(const AnalysisInput& input, const Interval& time);

}  // namespace gprof
