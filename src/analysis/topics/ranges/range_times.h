// What the ranges of each path add up to on the host and while the GPU waited.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/result/statistics.h"
#include "gprof/analysis.h"

namespace gprof {

struct PathTimes {
  NameId path;
  Statistics times;
  int64_t self_ns = 0;      // less the push/pop ranges directly within, whatever their domain
  int64_t gpu_idle_ns = 0;  // of the GPU that the range's thread uses most
  int64_t known_ns = 0;     // of the total, within windows: of other time nobody knows what the GPU did
  int64_t lanes = 0;        // how many could be open at a time: threads, and start/end ranges that overlap on one
};

// Longest total time first.
std::vector<PathTimes> TimesByPath(const AnalysisInput& input, Spread spread);

// nvtx_tables.cpp: tables of the analysis `nvtx` besides that of the ranges. They have rows where the trace has such
// records.

// What ran in CUDA graphs, by the code that built them: kernels of a graph all come from one launch otherwise.
Table GraphWorkTable(const AnalysisInput& input, uint32_t max_rows);

// What programs attached to their ranges and marks, by range; adds the metrics of it.
Table PayloadTable(const Trace& trace, uint32_t max_rows, AnalysisResult* result);

}  // namespace gprof
