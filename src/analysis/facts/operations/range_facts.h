// What one pass over all NVTX ranges tells, so that analyses need not make a pass each.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "gprof/trace.h"

namespace gprof {

class RangeFacts {
 public:
  explicit RangeFacts(const Trace& trace);

  // A push/pop range of which the trace has the beginning and the end.
  static bool IsWhole(const PackedRanges::Item& range) { return range.is_push_pop && !range.is_open && !range.is_cut; }

  // Of the ranges that share their traits, by the number of those (PackedRanges::TraitsIndex).
  struct Sum {
    uint32_t count = 0;
    uint32_t whole = 0;  // of these, and at what depths they are
    uint16_t least_depth = std::numeric_limits<uint16_t>::max(), most_depth = 0;
  };
  const std::vector<Sum>& sums() const { return sums_; }

  bool HasStartEnd(uint32_t thread) const { return of_threads_[thread].has_start_end; }
  // When the last push/pop range of a thread ended or the last start/end range began; INT64_MIN without any.
  int64_t LastOf(uint32_t thread) const { return of_threads_[thread].last_ns; }

  // Calls f(index) for the whole ranges of a thread, in order; for those of one depth.
  template <class F>
  void ForEachWhole(uint32_t thread, F&& f) const {
    const Trace::Slice slice = trace_.thread_ranges[thread];
    const PackedRanges::Item* const items = trace_.ranges.items().data();
    for (uint32_t i = slice.first; i < slice.last; ++i) {
      PrefetchForReading(&items[i]);
      if (IsWhole(items[i])) f(i);
    }
  }
  template <class F>
  void ForEachWhole(uint32_t thread, uint16_t depth, F&& f) const {
    if (depth == 0 && has_outermost_) {
      for (const uint32_t range : OutermostOf(thread)) f(range);
      return;
    }
    ForEachWhole(thread, [&](uint32_t range) { trace_.ranges.items()[range].depth == depth ? f(range) : void(); });
  }

 private:
  struct OfThread {
    bool has_start_end = false;
    int64_t last_ns = std::numeric_limits<int64_t>::min();
  };

  void Add(Trace::Slice ranges, OfThread* of_thread);
  void AddOutermost(uint32_t range);
  std::span<const uint32_t> OutermostOf(uint32_t thread) const;

  const Trace& trace_;
  std::vector<Sum> sums_;
  std::vector<OfThread> of_threads_;
  std::vector<uint32_t> outermost_;  // whole ranges of depth 0, in order, where they are few
  bool has_outermost_ = true;
};

}  // namespace gprof
