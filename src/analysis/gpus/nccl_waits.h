// Who waits for whom in collectives: a kernel of NCCL runs from when its own rank is ready, and gets on when the last
// one is.
#pragma once

#include <cstdint>
#include <functional>

#include "analysis/facts/shared_facts.h"
#include "analysis/gpus/nccl_messages.h"
#include "gprof/analysis.h"

namespace gprof {

using IsCollective = std::function<bool(const GpuOp&)>;

// Metrics nccl.waiting_ns, table "nccl_waits" and finding "nccl.straggler", where several GPUs of one communicator are
// in the trace. Returns how long kernels waited.
int64_t AddNcclWaits(const AnalysisInput& input, const NcclMessages& messages, const IsCollective& is_collective,
                     uint32_t max_rows, AnalysisResult* result);

}  // namespace gprof
