// The innermost push/pop range of a thread at times that only go forward.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "gprof/trace.h"

namespace gprof {

class RangeCursor {
 public:
  RangeCursor(const Trace& trace, uint32_t thread)
      : ranges_(trace.ranges),
        items_(trace.ranges.items().data()),
        first_(trace.thread_ranges[thread].first),
        next_(trace.thread_ranges[thread].first),
        last_(trace.thread_ranges[thread].last) {}

  // Goes to any time. Not for a thread with ranges that were cut: one of those may end before a range that was closed
  // earlier, so that more than the ranges around the last one may hold a time.
  void Jump(int64_t time_ns) {
    const auto is_later = [](int64_t ns, const PackedRanges::Item& r) { return ns < r.start_ns(); };
    next_ = static_cast<uint32_t>(std::upper_bound(items_ + first_, items_ + last_, time_ns, is_later) - items_);
    open_.resize(1);
    uint32_t end = next_;
    while (end != first_ && !items_[end - 1].is_push_pop) --end;
    for (uint32_t r = end == first_ ? kNone : end - 1; r != kNone; r = items_[r].parent) open_.push_back(OpenAt(r));
    std::reverse(open_.begin() + 1, open_.end());
    LookAround();
  }

  uint32_t At(int64_t time_ns) {
    if (time_ns >= change_ns_) Move(time_ns);
    return innermost_;
  }

 private:
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

  struct Open {
    int64_t end_ns = kNever;
    uint32_t range = kNone;
  };
  Open OpenAt(uint32_t range) const {
    const PackedRanges::Item& r = items_[range];
    return {r.is_open ? kNever : ranges_.EndNs(r), range};
  }

  [[gnu::noinline]] void Move(int64_t time_ns) {
    time_ns = std::min(time_ns, kNever - 1);
    uint32_t next = next_;
    for (; next < last_ && items_[next].start_ns() <= time_ns; ++next) {
      if (items_[next].is_push_pop) open_.push_back(OpenAt(next));
    }
    next_ = next;
    while (open_.back().end_ns <= time_ns) open_.pop_back();
    LookAround();
  }

  // What is innermost, and until when nothing changes that.
  void LookAround() {
    innermost_ = open_.back().range;
    change_ns_ = std::min(open_.back().end_ns, next_ < last_ ? items_[next_].start_ns() : kNever);
  }

  const PackedRanges& ranges_;
  const PackedRanges::Item* items_;
  uint32_t first_, next_, last_;
  uint32_t innermost_ = kNone;
  int64_t change_ns_ = std::numeric_limits<int64_t>::min();
  std::vector<Open> open_ = std::vector<Open>(1);  // below all of them one that stands for none and never ends
};

}  // namespace gprof
