// Who waits for whom in collectives: a kernel of NCCL runs from when its own rank is ready, and gets on when the last
// one is.
#pragma once

#include <cstdint>

#include "analysis/facts/shared_facts.h"
#include "analysis/gpus/nccl_messages.h"
#include "gprof/analysis.h"

namespace gprof {

// Metrics nccl.waiting_ns, table "nccl_waits" and finding "nccl.straggler", where several GPUs of one communicator are
// in the trace.
void AddNcclWaits(const AnalysisInput& input, const NcclMessages& messages, uint32_t max_rows, AnalysisResult* result);

}  // namespace gprof
