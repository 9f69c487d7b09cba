// What streams say to the reader: asked for and not used, used and never overlapping, really overlapping.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "gprof/analysis.h"

namespace gprof {

// Time by the number of streams that had an operation running.
struct Concurrency {
  std::vector<int64_t> level_ns;  // [0] is idle time
  int64_t kernel_overlap_ns = 0;  // kernels of two or more streams
  int64_t copy_compute_ns = 0;    // a kernel and a copy

  int64_t WindowNs() const;
  int64_t BusyNs() const;
  int64_t OverlapNs() const;
  size_t MaxLevel() const { return level_ns.empty() ? 0 : level_ns.size() - 1; }
  void Add(const Concurrency& other);
};

// `is_used` says of each stream whether it had an operation.
std::vector<Finding> StreamFindings(const Trace& trace, const std::vector<uint8_t>& is_used,
                                    const Concurrency& concurrency);

}  // namespace gprof
