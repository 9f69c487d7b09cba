// What tensors of PyTorch held in the memory of GPUs: blocks of its allocator, from where they were given to where they
// were taken back, and whose they are.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/facts/operators/module_tree.h"
#include "analysis/facts/operators/operators.h"
#include "gprof/analysis.h"

namespace gprof {

struct HeldBlock {
  static constexpr int64_t kNeverFreed = std::numeric_limits<int64_t>::max();
  int64_t start_ns = 0, end_ns = kNeverFreed;
  int64_t size_bytes = 0;
  uint32_t process = kNone, device = kNone;
  uint32_t range = kNone;  // the innermost one that its thread was in
  uint32_t stack = kNone;
};

// In order of their starts. Empty where a trace has none, or does not tell which of them was taken back.
std::vector<HeldBlock> HeldBlocks(const Trace& trace);

// Memory of one process on one GPU.
using MemoryOwner = std::pair<uint32_t, uint32_t>;  // process and device
inline MemoryOwner OwnerOf(const HeldBlock& block) { return {block.process, block.device}; }

// Who asked for a block. What a trace does not tell is empty.
class BlockPlaces {
 public:
  explicit BlockPlaces(const AnalysisInput& input);

  // The innermost operator that does more than to allocate: among the ranges around it, else in its stack.
  std::string_view OperatorOf(const HeldBlock& block) const;
  // "train.py:12 (step)": by its stack, else by the Python functions among the ranges around it, which have the line
  // that they begin at.
  std::string LineOf(const HeldBlock& block);
  // Index into modules(), kNone for none; of the backward pass, that of the operator of the forward pass.
  uint32_t ModuleOf(const HeldBlock& block) const;
  bool IsBackward(const HeldBlock& block) const;
  const std::vector<ModuleSum>& modules() const { return modules_; }
  const Operators& operators() const { return operators_; }

 private:
  std::string_view OperatorInStack(uint32_t stack) const;
  const std::string& FunctionAround(uint32_t range);

  const AnalysisInput& input_;
  const Trace& trace_;
  Operators operators_;
  ModuleTree tree_;
  std::vector<ModuleSum> modules_;  // folded
  std::vector<uint32_t> folded_;
  std::map<uint32_t, std::string> functions_;  // around ranges that were asked for
};

}  // namespace gprof
