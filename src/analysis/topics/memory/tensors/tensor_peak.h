// What tensors of PyTorch stood in the memory of each GPU when they held most of it.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "analysis/topics/memory/tensors/tensor_blocks.h"
#include "gprof/analysis.h"

namespace gprof {

struct TensorPeak {
  int64_t time_ns = 0, bytes = 0;
  int64_t known_bytes = 0;  // of blocks that were seen to be given
};
using TensorPeaks = std::map<MemoryOwner, TensorPeak>;

// `blocks`: HeldBlocks(trace).
TensorPeaks PeaksOf(const Trace& trace, const std::vector<HeldBlock>& blocks);

inline bool IsAtPeak(const HeldBlock& block, const TensorPeak& peak) {
  return block.start_ns <= peak.time_ns && block.end_ns > peak.time_ns;
}

// By operator, by module and by line of Python.
std::vector<Table> TensorPeakTables(const Trace& trace, const std::vector<HeldBlock>& blocks, const TensorPeaks& peaks,
                                    BlockPlaces* places, uint32_t max_rows);

// tensor_block_table.cpp: single blocks of PyTorch's allocator, the largest first.

// `places` may be null where there are no blocks.
Table TensorBlockTable(const Trace& trace, const std::vector<HeldBlock>& blocks, BlockPlaces* places,
                       uint32_t max_rows);

// tensor_category_table.cpp: how much of the memory of tensors each category has: when they held most of it, and after
// the last step.

// `places` is null where there are no blocks. Metrics are those of the GPU and process with the highest peak.
void AddTensorCategories(const AnalysisInput& input, const std::vector<HeldBlock>& blocks, const TensorPeaks& peaks,
                         const BlockPlaces* places, uint32_t max_rows, AnalysisResult* result);

}  // namespace gprof
