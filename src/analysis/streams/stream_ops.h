// The operations of each stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gprof/trace.h"

namespace gprof {

// Indexes of operations by stream, those of one in the order of the trace, all in one vector.
class StreamOps {
 public:
  // `counts`: how many operations each stream has.
  StreamOps(const Trace& trace, const std::vector<uint32_t>& counts);
  std::span<const uint32_t> Of(uint32_t stream) const {
    const size_t first = stream == 0 ? 0 : ends_[stream - 1];
    return std::span<const uint32_t>(ops_).subspan(first, ends_[stream] - first);
  }

 private:
  std::vector<size_t> ends_;
  std::vector<uint32_t, packed_detail::Unwritten<uint32_t>> ops_;
};

}  // namespace gprof
