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
        last_(trace.thread_ranges[thread].last),
        open_(kUsualDepth) {
    Leave();
    next_start_ns_ = StartOf(next_);
  }
  RangeCursor(const RangeCursor&) = delete;
  RangeCursor& operator=(const RangeCursor&) = delete;

  // Goes to any time. Not for a thread with ranges that were cut: one of those may end before a range that was closed
  // earlier, so that more than the ranges around the last one may hold a time.
  void Jump(int64_t time_ns) {
    const auto is_later = [](int64_t ns, const PackedRanges::Item& r) { return ns < r.start_ns(); };
    next_ = static_cast<uint32_t>(std::upper_bound(items_ + first_, items_ + last_, time_ns, is_later) - items_);
    next_start_ns_ = StartOf(next_);
    Leave();
    uint32_t end = next_;
    while (end != first_ && !items_[end - 1].is_push_pop) --end;
    for (uint32_t r = end == first_ ? kNone : end - 1; r != kNone; r = items_[r].parent) {
      if (top_ == highest_) MakeRoom();
      Enter(r);
    }
    std::reverse(open_.data() + 1, top_ + 1);
    LookAround();
  }

  uint32_t At(int64_t time_ns) {
    if (time_ns >= change_ns_) Move(time_ns);
    return innermost_;
  }

 private:
  static constexpr std::size_t kUsualDepth = 32;
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

  struct Open {
    int64_t end_ns = kNever;
    uint32_t range = kNone;
  };
  void Enter(uint32_t range) {
    const PackedRanges::Item& r = items_[range];
    Open& open = *++top_;
    open.end_ns = r.is_open ? kNever : ranges_.EndNs(r);
    open.range = range;
  }
  int64_t StartOf(uint32_t range) const { return range < last_ ? items_[range].start_ns() : kNever; }

  // Calls nothing that it comes back from: it runs for most ranges, and would save its registers each time.
  [[gnu::noinline]] void Move(int64_t time_ns) {
    time_ns = std::min(time_ns, kNever - 1);
    while (next_start_ns_ <= time_ns) {
      if (items_[next_].is_push_pop) {
        if (top_ == highest_) [[unlikely]]
          return MakeRoomAndMove(time_ns);
        Enter(next_);
      }
      next_start_ns_ = StartOf(++next_);
    }
    while (top_->end_ns <= time_ns) --top_;
    LookAround();
  }
  [[gnu::noinline]] void MakeRoomAndMove(int64_t time_ns) {
    MakeRoom();
    Move(time_ns);
  }

  // What is innermost, and until when nothing changes that.
  void LookAround() {
    innermost_ = top_->range;
    change_ns_ = std::min(top_->end_ns, next_start_ns_);
  }

  // No range is open.
  void Leave() {
    top_ = open_.data();
    highest_ = top_ + open_.size() - 1;
  }
  void MakeRoom() {
    const std::ptrdiff_t depth = top_ - open_.data();
    open_.resize(2 * open_.size());
    Leave();
    top_ += depth;
  }

  const PackedRanges& ranges_;
  const PackedRanges::Item* items_;
  uint32_t first_, next_, last_;
  uint32_t innermost_ = kNone;
  int64_t next_start_ns_ = kNever, change_ns_ = std::numeric_limits<int64_t>::min();
  std::vector<Open> open_;  // the first one stands for none, and never ends
  Open *top_ = nullptr, *highest_ = nullptr;
};

}  // namespace gprof
