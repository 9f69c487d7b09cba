// What the launch of a kernel allows: CUDA's own occupancy calculator, from cuda_occupancy.h of the CUDA Toolkit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "gprof/trace/record.h"

namespace gprof {

// Whether this build has it: without the header there is no analysis of occupancy.
bool HasOccupancyCalculator();

struct Occupancy {
  int64_t blocks_per_sm = 0;  // that fit on an SM at one time
  double percent = 0;         // their warps in percent of those that fit on an SM
  std::string limiter;        // "registers", "shared memory, warps", …; empty where the SM can be full
};

// Empty where the device is not known well enough, or the kernel could not have run on it.
std::optional<Occupancy> OccupancyOf(const trace::DeviceRecord& device, const trace::KernelShapeRecord& shape);

}  // namespace gprof
