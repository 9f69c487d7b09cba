// Time of processes before the first and after the last operation of a device that they use.
#pragma once

#include <cstdint>
#include <vector>

#include "gprof/analysis.h"
#include "gprof/trace.h"

namespace gprof {

struct StartupTeardown {
  uint32_t device = kNone, process = kNone;
  int64_t startup_ns = 0, teardown_ns = 0;
};

// By device, then in the order in which the processes first use it. What was not recorded is not counted.
std::vector<StartupTeardown> StartupsAndTeardowns(const AnalysisInput& input);

}  // namespace gprof
