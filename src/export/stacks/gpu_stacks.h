// The time of the GPUs by the stacks of the calls that launched their work: busy with it, or idle before it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gprof/trace.h"

namespace gprof {

struct GpuStack {
  uint32_t thread = kNone, stack = kNone;  // of the launching call; kNone where that is not known
  std::string what;                        // "my_kernel", "copy host to device", "idle: host code"
  int64_t busy_ns = 0, idle_ns = 0;
};

// Work whose call is not known is left out, idle time before it is not.
std::vector<GpuStack> GpuStacksOf(const Trace& trace);

}  // namespace gprof
