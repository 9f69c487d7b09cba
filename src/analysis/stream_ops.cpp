#include "analysis/stream_ops.h"

namespace gprof {

StreamOps::StreamOps(const Trace& trace, const std::vector<uint32_t>& counts) : ends_(counts.size() + 1, 0) {
  for (size_t i = 0; i < counts.size(); ++i) ends_[i + 1] = ends_[i] + counts[i];
  ops_.resize(ends_.back());
  std::vector<uint32_t> stream_of;  // by the facts of operations
  for (uint32_t i = 0; i < trace.ops.FactsCount(); ++i) stream_of.push_back(trace.ops.FactsAt(i).stream);
  const PackedOps::Item* const items = trace.ops.items().data();
  for (const PackedOps::Item *item = items, *end = items + trace.ops.size(); item != end; ++item) {
    PrefetchForReading(item);
    const uint32_t stream = stream_of[item->facts];
    if (stream != kNone) ops_[ends_[stream]++] = static_cast<uint32_t>(item - items);
  }
}

}  // namespace gprof
