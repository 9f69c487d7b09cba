// Intervals that are in order and do not overlap, and how much of others they cover.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "gprof/trace.h"

namespace gprof {

// Length of the union of intervals that come sorted by their start.
class BusyTime {
 public:
  BusyTime() = default;
  BusyTime(int64_t busy_ns, int64_t end_ns) : busy_ns_(busy_ns), end_ns_(end_ns) {}
  // Whether they overlap is not to be foreseen, so that this has no branches.
  void Add(int64_t start_ns, int64_t end_ns) {
    const int64_t from_ns = start_ns > end_ns_ ? start_ns : end_ns_;
    busy_ns_ += end_ns > from_ns ? end_ns - from_ns : 0;
    end_ns_ = end_ns > end_ns_ ? end_ns : end_ns_;
  }
  // The next intervals are of another device: they do not overlap with those before.
  void StartOver() { end_ns_ = INT64_MIN; }
  int64_t busy_ns() const { return busy_ns_; }
  int64_t end_ns() const { return end_ns_; }  // of the last interval to end

 private:
  int64_t busy_ns_ = 0, end_ns_ = INT64_MIN;
};

class IntervalSet {
 public:
  // In order of start; joined where they touch.
  void Add(int64_t start_ns, int64_t end_ns) {
    if (!intervals_.empty() && start_ns <= intervals_.back().end_ns) {
      intervals_.back().end_ns = std::max(intervals_.back().end_ns, end_ns);
    } else if (start_ns < end_ns) {
      intervals_.push_back({start_ns, end_ns});
    }
  }

  int64_t TotalNs() const {
    int64_t sum_ns = 0;
    for (const Interval& interval : intervals_) sum_ns += interval.DurationNs();
    return sum_ns;
  }

  const std::vector<Interval>& intervals() const { return intervals_; }

  // Covers intervals that come in order of their start.
  class Cursor {
   public:
    explicit Cursor(const IntervalSet& set) : set_(set.intervals_) {}
    int64_t Covered(int64_t start_ns, int64_t end_ns) {
      while (next_ < set_.size() && set_[next_].end_ns <= start_ns) ++next_;
      int64_t sum_ns = 0;
      for (size_t i = next_; i < set_.size() && set_[i].start_ns < end_ns; ++i) {
        sum_ns += OverlapNs(set_[i], Interval{start_ns, end_ns});
      }
      return sum_ns;
    }

   private:
    const std::vector<Interval>& set_;
    size_t next_ = 0;
  };

 private:
  std::vector<Interval> intervals_;
};

}  // namespace gprof
