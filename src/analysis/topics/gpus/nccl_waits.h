// Who waits for whom in collectives: a kernel of NCCL runs from when its own rank is ready, and gets on when the last
// one is.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/topics/gpus/nccl_meetings.h"
#include "gprof/analysis.h"
#include "gprof/trace.h"

namespace gprof {

// Metrics nccl.waiting_ns, table "nccl_waits" and finding "nccl.straggler", where several GPUs of one communicator are
// in the trace. Returns how long kernels waited.
int64_t AddNcclWaits(const AnalysisInput& input, const NcclMessages& messages, const IsCollective& is_collective,
                     uint32_t max_rows, AnalysisResult* result);

// late_work.cpp: what a rank was doing while others waited for it.

// For a sentence whose subject is the rank: "ran other kernels, mostly gemm", "was mostly running data.py:40
// (collate)", "was in range load". Times are in order and do not overlap. `device`: kNone for a rank without a GPU;
// `thread`: that launched its collectives or called MPI. Empty where nothing is known.
std::string WorkMeanwhile(const AnalysisInput& input, uint32_t device, uint32_t thread,
                          const std::vector<Interval>& times);

// The same of what a rank did before it came, from one meeting to the next, that others did less of.
struct WorkOfRank {
  uint32_t device = kNone, thread = kNone;
  std::vector<Interval> times;  // in order, not overlapping
};
std::string WorkBeside(const AnalysisInput& input, const WorkOfRank& late, const std::vector<WorkOfRank>& others);

}  // namespace gprof
