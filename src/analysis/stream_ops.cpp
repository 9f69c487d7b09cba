#include "analysis/stream_ops.h"

namespace gprof {

StreamOps::StreamOps(const Trace& trace, const std::vector<uint32_t>& counts) : ends_(counts.size() + 1, 0) {
  for (size_t i = 0; i < counts.size(); ++i) ends_[i + 1] = ends_[i] + counts[i];
  ops_.resize(ends_.back());
  for (uint32_t i = 0; i < trace.ops.size(); ++i) {
    trace.ops.PrefetchAfter(i);
    const uint32_t stream = trace.ops[i].stream;
    if (stream != kNone) ops_[ends_[stream]++] = i;
  }
}

}  // namespace gprof
