// Children that were forked while another thread had begun the first NVTX call of a shared object, before the loader
// was done with us: nothing of ours could hold back the fork then (core/fork_hold.h). NVTX waits in such a child for a
// thread that is not there. They are found from here, and their NVTX is switched off, which ends the wait.
#pragma once

#include <nvtx3/nvToolsExt.h>

#include "tracer/core/collectors.h"

namespace gprof::tracer {

// [entry point] NVTX of a shared object is starting.
void WatchStartOfNvtx(NvtxGetExportTableFunc_t get_export_table);

void FreeStuckChildren(DrainRound* round);

inline constexpr Collector kStuckChildCollector = {.drain = FreeStuckChildren};

}  // namespace gprof::tracer
