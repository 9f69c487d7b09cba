// An NVTX range that lasts as long as the object.
#pragma once

#include <nvtx3/nvToolsExt.h>

namespace gprof::examples {

class NvtxRange {
 public:
  explicit NvtxRange(const char* name) { nvtxRangePushA(name); }
  ~NvtxRange() { nvtxRangePop(); }
  NvtxRange(const NvtxRange&) = delete;
  NvtxRange& operator=(const NvtxRange&) = delete;
};

}  // namespace gprof::examples
