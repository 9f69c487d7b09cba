// How long a device was idle within intervals.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analysis/idle/gap_list.h"

namespace gprof {

class IdleWithin {
 public:
  IdleWithin(const Trace& trace, const GapList& gaps);

  // Idle time of the device in [start_ns, end_ns). Quick for intervals that lie near the one asked for before.
  int64_t Of(int64_t start_ns, int64_t end_ns);

 private:
  // Idle time is summed up to every 8th operation; from there on it is counted.
  static constexpr uint32_t kStride = 8;

  // The first operation that starts later than some time, counted from the first of the device, and the idle time
  // before it, the gap that it ends included.
  struct Place {
    size_t next = 0;
    int64_t idle_ns = 0;
  };
  Place GoOn(const Place& from, int64_t time_ns) const;
  Place Find(size_t near, int64_t time_ns) const;
  int64_t Until(int64_t time_ns, const Place& place) const;
  int64_t PausedUntil(int64_t time_ns) const;

  const Trace& trace_;
  const GapList& gaps_;
  std::vector<int64_t> sums_ns_;    // idle time before the gap that each such operation ends
  std::vector<int64_t> paused_ns_;  // time of the pauses before each, and of all
  Place last_;
};

}  // namespace gprof
