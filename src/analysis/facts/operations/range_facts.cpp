#include "analysis/facts/operations/range_facts.h"

#include <algorithm>

namespace gprof {
namespace {

constexpr size_t kRangesToOutermost = 8;  // with more of them it is no longer quicker to go from one to the next

}  // namespace

RangeFacts::RangeFacts(const Trace& trace)
    : trace_(trace), sums_(trace.ranges.TraitsCount()), of_threads_(trace.threads.size()) {
  uint32_t end = 0;
  for (uint32_t thread = 0; thread < trace.threads.size(); ++thread) {
    Add(trace.thread_ranges[thread], &of_threads_[thread]);
    end = std::max(end, trace.thread_ranges[thread].last);
  }
  OfThread of_none;
  Add({end, static_cast<uint32_t>(trace.ranges.size())}, &of_none);
}

void RangeFacts::Add(Trace::Slice ranges, OfThread* of_thread) {
  const PackedRanges::Item* const items = trace_.ranges.items().data();
  Sum* const sums = sums_.data();
  OfThread all = *of_thread;
  for (uint32_t i = ranges.first; i < ranges.last; ++i) {
    const PackedRanges::Item& range = items[i];
    PrefetchForReading(&range);
    Sum& sum = sums[range.traits];
    ++sum.count;
    if (!range.is_push_pop) [[unlikely]] {
      all.has_start_end = true;
      all.last_ns = std::max(all.last_ns, range.start_ns());
      continue;
    }
    all.last_ns = std::max(all.last_ns, trace_.ranges.EndNs(range));
    if (!IsWhole(range)) continue;
    ++sum.whole;
    sum.least_depth = std::min(sum.least_depth, range.depth);
    sum.most_depth = std::max(sum.most_depth, range.depth);
    if (range.depth == 0) AddOutermost(i);
  }
  *of_thread = all;
}

void RangeFacts::AddOutermost(uint32_t range) {
  if (!has_outermost_) return;
  if (outermost_.size() <= trace_.ranges.size() / kRangesToOutermost) return outermost_.push_back(range);
  has_outermost_ = false;
  outermost_ = {};
}

std::span<const uint32_t> RangeFacts::OutermostOf(uint32_t thread) const {
  const Trace::Slice slice = trace_.thread_ranges[thread];
  const auto first = std::lower_bound(outermost_.begin(), outermost_.end(), slice.first);
  return {first, std::lower_bound(first, outermost_.end(), slice.last)};
}

}  // namespace gprof
