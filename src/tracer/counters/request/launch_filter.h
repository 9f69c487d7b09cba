// Which launches are measured: by name, by number, by device.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "tracer/counters/request/kernel_name.h"
#include "tracer/counters/request/nvtx_filter.h"
#include "tracer/counters/request/wanted_counters.h"

namespace gprof::tracer {

struct Launch {
  const char* symbol = "";  // mangled
  uint32_t grid[3] = {}, block[3] = {};
  uint32_t dynamic_shared_bytes = 0;
  uint32_t cluster_blocks = 0;  // 0: without clusters
  uint32_t device = 0, context = 0, stream = 0;
  NvtxState nvtx;
};

struct LaunchedKernel {
  Launch launch;
  CUfunction function = nullptr;
};

enum class Choice : uint8_t {
  kMeasured,
  kCounted,  // enough of it were measured: one more does no harm
  kLeftOut,  // not to be touched
};

class LaunchFilter {
 public:
  // Once, before anything is asked. False: an expression is none; a notice says so.
  bool Prepare(CounterRequest* request);
  // Counts the launch, and says whether it is to be measured. [one thread at a time]
  Choice Choose(const Launch& launch);

 private:
  bool TakesName(const Launch& launch) const;
  bool IsTheOne(const Launch& launch);
  bool IsInCount(const Launch& launch);

  const CounterRequest* request_ = nullptr;
  uint32_t launches_ = 0;  // of any kernel
  uint32_t same_ = 0;      // of the kernel that --kernel-id names
};

}  // namespace gprof::tracer
