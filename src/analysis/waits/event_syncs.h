// What the host waited for with cudaEventSynchronize: the operation that each event stands for.
#pragma once

#include "gprof/analysis.h"

namespace gprof {

// Calls of one thread in one NVTX range for one sort of operation in one stream.
Table EventSyncTable(const AnalysisInput& input, uint32_t max_rows);

}  // namespace gprof
