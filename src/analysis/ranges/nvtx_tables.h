// Tables of the analysis `nvtx` besides that of the ranges. They have rows where the trace has such records.
#pragma once

#include "gprof/analysis.h"

namespace gprof {

// What ran in CUDA graphs, by the code that built them: kernels of a graph all come from one launch otherwise.
Table GraphWorkTable(const AnalysisInput& input, uint32_t max_rows);

// What programs attached to their ranges and marks, by range; adds the metrics of it.
Table PayloadTable(const Trace& trace, uint32_t max_rows, AnalysisResult* result);

}  // namespace gprof
