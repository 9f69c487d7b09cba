// What tensors of PyTorch stood in the memory of each GPU when they held most of it.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "analysis/tensors/tensor_blocks.h"
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

}  // namespace gprof
