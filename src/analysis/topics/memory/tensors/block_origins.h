// What the code around the allocation of a block tells of it: whether it made or moved a module, copied from the host,
// and when that work was done.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/facts/operators/operators.h"
#include "analysis/topics/memory/tensors/tensor_blocks.h"
#include "gprof/analysis.h"

namespace gprof {

class BlockOrigins {
 public:
  BlockOrigins(const AnalysisInput& input, const Operators& operators);

  // Within Module._apply(), by which modules are moved and converted, or __init__() of a module of torch.nn: by the
  // functions in its stack, else among the ranges around it.
  bool IsOfModule(const HeldBlock& block) const;
  // The outermost operator around it copied from the host.
  bool IsCopiedFromHost(const HeldBlock& block) const;
  // When the outermost operator or module around it ended; its own start where there is none.
  int64_t WorkEnd(const HeldBlock& block) const;

 private:
  uint32_t OutermostOperator(uint32_t range) const;
  void FindCopies(const AnalysisInput& input);

  const Trace& trace_;
  const Operators& operators_;
  std::vector<bool> stacks_of_modules_;       // by stack
  std::vector<bool> is_of_module_, is_work_;  // by the traits of ranges
  std::vector<bool> has_copy_;                // by range: outermost operators that copied from the host
};

}  // namespace gprof
