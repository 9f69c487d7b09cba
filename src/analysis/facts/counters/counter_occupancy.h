// Occupancy from the facts of a launch and of the GPU, and what it would be with others.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/facts/counters/counter_groups.h"

namespace gprof {

inline constexpr double kWarpThreads = 32;

// Blocks that an SM holds at one time, as each resource allows.
struct OccupancyLimits {
  double registers = 0, shared_memory = 0, warps = 0, blocks = 0;
  double blocks_per_sm = 0;  // the least of them
  double warps_per_sm = 0;
  double percent = 0;   // those of the warps that an SM can hold
  double waves = 0;     // times that the grid fills the GPU
  std::string limiter;  // "registers, shared memory"; empty where the SM can be full
};

// `device` may be null: then they are those that were collected, if they were.
std::optional<OccupancyLimits> LimitsOf(const KernelCounters& kernel, const trace::DeviceRecord* device);

struct WhatIf {
  std::string_view resource;  // registers, shared memory, block size
  double now = 0, then = 0;   // per thread, in bytes per block, in threads
  double blocks_per_sm = 0, percent = 0;
};

// The least change of each resource by which more warps fit, and the one by which most do. Everything else stays as it
// is; shared memory may take all that an SM has of it. Empty where the launch or the GPU is not known well enough, and
// where all warps fit.
std::vector<WhatIf> WhatIfsOf(const KernelCounters& kernel, const trace::DeviceRecord* device);

}  // namespace gprof
