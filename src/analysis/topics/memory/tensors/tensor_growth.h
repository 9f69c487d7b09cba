// Tensors of PyTorch that are kept: memory that grows by the same amount step after step.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/facts/steps/step_finder.h"
#include "analysis/topics/memory/tensors/tensor_blocks.h"
#include "gprof/analysis.h"

namespace gprof {

// Blocks that one line and operator asked for in step after step, and that are still there at the end of the last one.
struct GrowingTensors {
  std::string line, op, module;
  int64_t blocks = 0, bytes = 0;  // of the steps that were looked at
};

// Of the GPU that grows most, in the process of the steps.
struct TensorGrowth {
  MemoryOwner owner;
  std::vector<GrowingTensors> tensors;  // most bytes first; empty where nothing grows
  int64_t steps = 0;                    // that were looked at
  int64_t span_ns = 0;                  // of these
  int64_t blocks = 0, bytes = 0;        // of all that is kept
  NameId step;
  bool is_known = false;  // there are enough steps to tell

  int64_t BytesEach() const { return steps == 0 ? 0 : bytes / steps; }
};

// `step` is null where there is none.
TensorGrowth TensorGrowthOf(const std::vector<HeldBlock>& blocks, const Trace& trace, const StepChoice* step,
                            BlockPlaces* places);

Table TensorGrowthTable(const Trace& trace, const TensorGrowth& growth, uint32_t max_rows);
void AddTensorGrowthMetric(const TensorGrowth& growth, AnalysisResult* result);
void AddTensorGrowthFinding(const Trace& trace, const TensorGrowth& growth, std::vector<Finding>* findings);

}  // namespace gprof
