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
      : trace_(trace),
        first_(trace.thread_ranges[thread].first),
        next_(trace.thread_ranges[thread].first),
        last_(trace.thread_ranges[thread].last) {}

  // Goes to any time. Not for a thread with ranges that were cut: one of those may end before a range that was closed
  // earlier, so that more than the ranges around the last one may hold a time.
  void Jump(int64_t time_ns) {
    const auto begin = trace_.ranges.begin();
    const auto is_later = [](int64_t ns, const NvtxRange& r) { return ns < r.start_ns; };
    next_ = static_cast<uint32_t>(std::upper_bound(begin + first_, begin + last_, time_ns, is_later) - begin);
    open_.clear();
    uint32_t end = next_;
    while (end != first_ && !trace_.ranges[end - 1].is_push_pop) --end;
    for (uint32_t r = end == first_ ? kNone : end - 1; r != kNone; r = trace_.ranges[r].parent) open_.push_back(r);
    std::reverse(open_.begin(), open_.end());
    LookAround();
  }

  uint32_t At(int64_t time_ns) {
    if (time_ns >= change_ns_) Move(time_ns);
    return innermost_;
  }

 private:
  [[gnu::noinline]] void Move(int64_t time_ns) {
    for (; next_ < last_ && trace_.ranges[next_].start_ns <= time_ns; ++next_) {
      if (trace_.ranges[next_].is_push_pop) open_.push_back(next_);
    }
    const auto is_over = [&](const NvtxRange& r) { return !r.is_open && r.end_ns <= time_ns; };
    while (!open_.empty() && is_over(trace_.ranges[open_.back()])) open_.pop_back();
    LookAround();
  }

  // What is innermost, and until when nothing changes that.
  void LookAround() {
    innermost_ = open_.empty() ? kNone : open_.back();
    change_ns_ = next_ < last_ ? trace_.ranges[next_].start_ns : std::numeric_limits<int64_t>::max();
    if (innermost_ == kNone || trace_.ranges[innermost_].is_open) return;
    change_ns_ = std::min(change_ns_, trace_.ranges[innermost_].end_ns);
  }

  const Trace& trace_;
  uint32_t first_, next_, last_;
  uint32_t innermost_ = kNone;
  int64_t change_ns_ = std::numeric_limits<int64_t>::min();
  std::vector<uint32_t> open_;
};

}  // namespace gprof
