// Tables by the names of recipes of Nsight Systems, for `stats -r`. Made of records.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

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

// Tables with the columns of nsys, of samples by what stands in the text columns.

// "Avg (ns)". `counted` is what nsys calls the number of rows behind a figure; sizes have no share of a total.
std::vector<Column> NsysColumns(const std::string& counted, Unit unit);

using SamplesByName = std::map<std::vector<std::string>, std::vector<int64_t>>;
Table TableOfSamples(SamplesByName&& samples, const std::string& counted, Unit unit,
                     const std::vector<std::string>& text_columns, const AnalysisOptions& options = {});

// Nsight Systems writes "domain:name", and ":name" in the default domain.
std::string NsysRangeName(const Trace& trace, const NvtxRange& range);

}  // namespace gprof
