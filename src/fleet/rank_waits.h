// When a rank waited for others within its steps, and for whom.
#pragma once

#include <vector>

#include "analysis/facts/interval_set.h"
#include "analysis/gpus/nccl_kernels.h"
#include "analysis/gpus/nccl_messages.h"
#include "analysis/steps/step_times.h"
#include "fleet/rank_summary.h"
#include "gprof/analysis.h"

namespace gprof {

struct NcclOfRank {
  explicit NcclOfRank(const Trace& trace)
      : kernels(trace), messages(trace, [this](const GpuOp& op) { return kernels.Has(op); }) {}

  const NcclKernels kernels;
  const NcclMessages messages;
};

// On the GPU that the steps are of: kernels of NCCL with no other kernel beside them, and idle time in calls of MPI.
// `pid` is that of the rank, `others` are the kernels that are not NCCL's.
StepWaits StepWaitsOf(const AnalysisInput& input, const NcclOfRank& nccl, uint32_t pid, const IntervalSet& others,
                      const StepTimes& steps);

}  // namespace gprof
