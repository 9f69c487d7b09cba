// Events into lanes, in which none overlaps the next.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "html/timeline/timeline.h"

namespace gprof {

// Puts events, which come by start, into lanes: each into the first one from `depth` on that is free.
class LaneMaker {
 public:
  void Add(uint32_t item, Interval time, std::size_t depth) {
    std::size_t lane = depth;
    while (lane < ends_.size() && ends_[lane] > time.start_ns) ++lane;
    while (ends_.size() <= lane) {
      lanes_.push_back({static_cast<uint32_t>(ends_.size()), 0, 0, {}});
      ends_.push_back(INT64_MIN);
    }
    ends_[lane] = time.end_ns;
    lanes_[lane].items.push_back(item);
  }
  // Lanes without events are left out.
  std::vector<TimelineLane> Finish() {
    std::erase_if(lanes_, [](const TimelineLane& lane) { return lane.items.empty(); });
    return std::move(lanes_);
  }

 private:
  std::vector<TimelineLane> lanes_;
  std::vector<int64_t> ends_;
};

}  // namespace gprof
