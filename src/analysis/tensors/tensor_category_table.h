// How much of the memory of tensors each category has: when they held most of it, and after the last step.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/tensors/tensor_blocks.h"
#include "analysis/tensors/tensor_peak.h"
#include "gprof/analysis.h"

namespace gprof {

// `places` is null where there are no blocks. Metrics are those of the GPU and process with the highest peak.
void AddTensorCategories(const AnalysisInput& input, const std::vector<HeldBlock>& blocks, const TensorPeaks& peaks,
                         const BlockPlaces* places, uint32_t max_rows, AnalysisResult* result);

}  // namespace gprof
