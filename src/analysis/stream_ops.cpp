#include "analysis/stream_ops.h"

namespace gprof {

StreamOps::StreamOps(const Trace& trace) : ends_(trace.streams.size() + 1, 0) {
  for (const GpuOp& op : trace.ops) {
    if (op.stream != kNone) ++ends_[op.stream + 1];
  }
  for (size_t i = 1; i < ends_.size(); ++i) ends_[i] += ends_[i - 1];
  ops_.resize(ends_.back());
  for (uint32_t i = 0; i < trace.ops.size(); ++i) {
    if (trace.ops[i].stream != kNone) ops_[ends_[trace.ops[i].stream]++] = i;
  }
}

}  // namespace gprof
