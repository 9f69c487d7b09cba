// NVTX ranges for programs in Python that have no package for it.
#include <nvtx3/nvToolsExt.h>

#define EXPORTED __attribute__((visibility("default")))

EXPORTED void push_range(const char* name) { nvtxRangePushA(name); }
EXPORTED void pop_range(void) { nvtxRangePop(); }
