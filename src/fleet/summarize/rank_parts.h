// The parts of the summary of a rank. rank_waits.cpp: when it waited for others within its steps, and for whom.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "analysis/causes/step_times.h"
#include "analysis/facts/operations/nccl_kernels.h"
#include "analysis/facts/time/interval_set.h"
#include "analysis/topics/gpus/nccl_messages.h"
#include "fleet/rank/rank_summary.h"
#include "fleet/summarize/host_time.h"
#include "gprof/analysis.h"

namespace gprof {

struct NcclOfRank {
  explicit NcclOfRank(const Trace& trace)
      : kernels(trace), messages(trace, [this](const GpuOp& op) { return kernels.Has(op); }) {}

  const NcclKernels kernels;
  const NcclMessages messages;
};

// On the GPU that the steps are of, or in calls of MPI where they are of no GPU: kernels of NCCL with no other kernel
// beside them, and idle time in calls of MPI. `pid` is that of the rank, `others` are the kernels that are not NCCL's.
StepWaits StepWaitsOf(const AnalysisInput& input, const NcclOfRank& nccl, uint32_t pid, const IntervalSet& others,
                      const StepTimes& steps);

// How much memory of its GPUs a rank had in use at most.

RankMemory MemoryOf(const AnalysisInput& input);

// The NVTX ranges of a rank, as its summary has them.

// The most GPU time first, then the most time.
std::vector<RankRange> RangesOf(const AnalysisInput& input);

// rank_communicators.cpp: the collectives that a rank made, by communicator.

// By name. `pid` is that of the rank, `host` what is known of a rank without GPU work, else nullptr.
std::vector<Communicator> CommunicatorsOf(const AnalysisInput& input, const NcclOfRank& nccl, uint32_t pid,
                                          const HostTime* host);

// what the GPU of a rank did in each of its steps, or where it has none, in slices of its time. Of a
// rank without GPU work, what its host did.

inline constexpr int64_t kTimeSlices = 128;  // of a rank without steps, whatever the length of its run

// By device, where there are collectives.
struct CollectiveTimes {
  const std::map<uint32_t, IntervalSet>& kernels;  // any kernel ran
  const std::map<uint32_t, IntervalSet>& others;   // one that is no collective
};

struct RankSteps {
  StepColumns columns;
  StepTimes times;  // without iterations where there are only slices
};

// `host` is that of a rank without GPU work, else nullptr.
RankSteps StepsOf(const AnalysisInput& input, const CollectiveTimes& times, const HostTime* host);

}  // namespace gprof
