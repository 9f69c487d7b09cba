// Tables by the names of recipes of Nsight Systems, for `stats -r`. Made of records.
#pragma once

#include "gprof/analysis.h"

namespace gprof {

// Kernels of NCCL by name.
Table NcclSum(const AnalysisInput& input);
// The longest times in which a GPU was idle, with what the host did.
Table GpuGaps(const AnalysisInput& input);
// NVTX ranges by name: from the first to the last operation launched within each of them.
Table NvtxGpuProjSum(const AnalysisInput& input);
// How much of each thirtieth of the run each GPU was busy.
Table GpuTimeUtilMap(const AnalysisInput& input);
// The same with the time in MPI calls of each process.
Table MpiGpuTimeUtilMap(const AnalysisInput& input);
// Each run of the kernel that takes the most time: when it began, and how long after the one before.
Table GpuKernPace(const AnalysisInput& input);

}  // namespace gprof
