// Events that overlap without nesting cannot be drawn in one row: they are spread over lanes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "gprof/trace.h"

namespace gprof {

// For the events of one track, by start and of equal starts the longest first.
class Lanes {
 public:
  enum class Nesting : uint8_t { kNested, kFlat };
  explicit Lanes(Nesting nesting) : nesting_(nesting) {}

  // The lane of an event: the first one in which it lies within what is open, or after it. `is_over(lane, end_ns)` is
  // told the ends of the events of that lane that are over when it starts, innermost first.
  template <class F>
  std::size_t Place(Interval time, F&& is_over) {
    std::size_t lane = 0;
    while (lane < open_.size() && !Fits(lane, time)) ++lane;
    if (lane == open_.size()) open_.emplace_back();
    Close(lane, time.start_ns, is_over);
    open_[lane].push_back(time.end_ns);
    return lane;
  }
  std::size_t Place(Interval time) {
    return Place(time, [](std::size_t, int64_t) {});
  }

  // What is still open, lane by lane.
  template <class F>
  void Finish(F&& is_over) {
    for (std::size_t lane = 0; lane < open_.size(); ++lane) Close(lane, INT64_MAX, is_over);
  }

 private:
  bool Fits(std::size_t lane, Interval time) const {
    // The first that is not over when this one starts is the one it would lie in.
    for (std::size_t i = open_[lane].size(); i-- > 0;) {
      if (open_[lane][i] <= time.start_ns) continue;
      return nesting_ == Nesting::kNested && open_[lane][i] >= time.end_ns;
    }
    return true;
  }
  template <class F>
  void Close(std::size_t lane, int64_t time_ns, F&& is_over) {
    std::vector<int64_t>& ends = open_[lane];
    while (!ends.empty() && ends.back() <= time_ns) {
      is_over(lane, ends.back());
      ends.pop_back();
    }
  }

  Nesting nesting_;
  std::vector<std::vector<int64_t>> open_;  // of each lane: ends of what is open, outermost first
};

}  // namespace gprof
