// What tensors of PyTorch are in the training of a model. Each category has its rules (docs/analyses.md); a block that
// none of them knows is unknown.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/topics/memory/tensors/tensor_blocks.h"
#include "analysis/topics/memory/tensors/training_parts.h"
#include "gprof/analysis.h"

namespace gprof {

enum class TensorCategory : uint8_t {
  kParameter,  // or a buffer of a module
  kGradient,
  kOptimizerState,
  kActivation,
  kInput,
  kTemporary,
  kUnknown
};
inline constexpr std::size_t kTensorCategories = 7;

const char* NameOf(TensorCategory category);

// One for each block. `operators`: those of the trace.
std::vector<TensorCategory> CategoriesOf(const AnalysisInput& input, const std::vector<HeldBlock>& blocks,
                                         const TrainingParts& parts, const Operators& operators);

}  // namespace gprof
