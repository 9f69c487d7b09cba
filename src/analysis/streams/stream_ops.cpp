#include "analysis/streams/stream_ops.h"

namespace gprof {

StreamOps::StreamOps(const Trace& trace, const std::vector<uint32_t>& counts) : ends_(counts.size() + 1, 0) {
  for (size_t i = 0; i < counts.size(); ++i) ends_[i + 1] = ends_[i] + counts[i];
  ops_.resize(ends_.back());
  std::vector<size_t*> end_of;  // by the traits of operations: of what its stream has so far
  for (uint32_t i = 0; i < trace.ops.TraitsCount(); ++i) {
    const uint32_t stream = trace.ops.TraitsAt(i).stream;
    end_of.push_back(stream == kNone ? nullptr : &ends_[stream]);
  }
  const PackedOps::Item* item = trace.ops.items().data();
  uint32_t* const ops = ops_.data();
  size_t* const* const end_of_traits = end_of.data();
  for (uint32_t i = 0, count = static_cast<uint32_t>(trace.ops.size()); i < count; ++i, ++item) {
    PrefetchForReading(item);
    size_t* const end = end_of_traits[item->traits];
    if (end != nullptr) ops[(*end)++] = i;
  }
}

}  // namespace gprof
