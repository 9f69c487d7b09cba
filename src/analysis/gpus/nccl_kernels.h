// Which operations are kernels of NCCL: names are looked at once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "analysis/result/display_names.h"
#include "gprof/trace.h"

namespace gprof {

class NcclKernels {
 public:
  explicit NcclKernels(const Trace& trace) {
    for (const std::string_view name : trace.strings) is_nccl_.push_back(IsNcclKernel(name));
  }
  bool Has(const GpuOp& op) const { return op.kind == OpKind::kKernel && is_nccl_[op.name.value] != 0; }
  bool Has(const PackedOps::Traits& op) const { return op.kind == OpKind::kKernel && is_nccl_[op.name.value] != 0; }
  bool HasAny() const { return std::find(is_nccl_.begin(), is_nccl_.end(), 1) != is_nccl_.end(); }

 private:
  std::vector<uint8_t> is_nccl_;  // by NameId
};

}  // namespace gprof
