// Occupancy against the block size, the registers and the shared memory of a launch: what NVIDIA's calculator draws.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "gprof/trace/record.h"

namespace gprof {

// Holds for values above those of the step before, up to this one. 0 %: no block of that kind fits on an SM.
struct OccupancyStep {
  uint32_t up_to = 0;
  double percent = 0;
};

struct OccupancyCurve {
  std::string_view resource;  // as limiters are called
  uint32_t now = 0;           // threads of a block, registers of a thread, bytes of a block
  std::vector<OccupancyStep> steps;
  std::optional<OccupancyStep> next;  // the nearest value with more occupancy
};

// A curve for each resource, with all else as it is. Empty where the occupancy of the launch is not known.
std::vector<OccupancyCurve> OccupancyCurvesOf(const trace::DeviceRecord& device, const trace::KernelShapeRecord& shape);

}  // namespace gprof
