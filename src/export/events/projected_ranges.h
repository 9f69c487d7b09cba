// NVTX ranges on the GPU: from the start of the first operation launched within a range to the end of the last, for
// each stream, as torch.profiler and Nsight Systems draw them.
#pragma once

#include <cstdint>
#include <vector>

#include "gprof/trace.h"

namespace gprof {

struct ProjectedRange {
  Interval time;
  uint32_t range = kNone, device = kNone, stream = kNone;
  uint32_t op_count = 0;  // operations launched within it into the stream
};

// Push/pop ranges; by device, then stream, then start, and of equal starts the longest first.
std::vector<ProjectedRange> ProjectRanges(const Trace& trace);

}  // namespace gprof
