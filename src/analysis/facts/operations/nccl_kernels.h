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
    std::vector<bool> is_known(trace.strings.size());
    is_nccl_.resize(trace.strings.size());
    for (uint32_t i = 0; i < trace.ops.TraitsCount(); ++i) {
      const PackedOps::Traits& op = trace.ops.TraitsAt(i);
      if (op.kind != OpKind::kKernel || is_known[op.name.value]) continue;
      is_known[op.name.value] = true;
      is_nccl_[op.name.value] = IsNcclKernel(trace.Text(op.name)) ? 1 : 0;
    }
  }
  bool Has(const GpuOp& op) const { return op.kind == OpKind::kKernel && is_nccl_[op.name.value] != 0; }
  bool Has(const PackedOps::Traits& op) const { return op.kind == OpKind::kKernel && is_nccl_[op.name.value] != 0; }
  bool HasAny() const { return std::ranges::find(is_nccl_, 1) != is_nccl_.end(); }

 private:
  std::vector<uint8_t> is_nccl_;  // by NameId of kernels
};

}  // namespace gprof
