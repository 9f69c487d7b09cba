// The replays of CUDA graphs, divided among the code that was captured: by module of the model or NVTX range, and by
// line of Python.
#pragma once

#include <cstdint>

#include "gprof/analysis.h"

namespace gprof {

// Their tables, empty where no node is known.
void AddGraphLayers(const AnalysisInput& input, uint32_t max_rows, AnalysisResult* result);

}  // namespace gprof
