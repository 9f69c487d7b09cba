// What tensors of PyTorch stood in the memory of each GPU when they held most of it.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/memory/tensor_blocks.h"
#include "gprof/analysis.h"

namespace gprof {

// By operator, by module and by line of Python. `blocks`: HeldBlocks(trace).
std::vector<Table> TensorPeakTables(const Trace& trace, const std::vector<HeldBlock>& blocks, BlockPlaces* places,
                                    uint32_t max_rows);

}  // namespace gprof
