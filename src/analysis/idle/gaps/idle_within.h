// How long a device was idle within intervals.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analysis/idle/gaps/gap_list.h"

namespace gprof {

class IdleWithin {
 public:
  IdleWithin(const Trace& trace, const GapList& gaps);

  // Idle time of the device in [start_ns, end_ns). Quick for intervals that lie near the one asked for before.
  int64_t Of(int64_t start_ns, int64_t end_ns);

 private:
  size_t FirstAfter(int64_t time_ns, size_t hint) const;
  int64_t PausedUntil(int64_t time_ns) const;

  const Trace& trace_;
  const GapList& gaps_;
  std::vector<int64_t> paused_ns_;  // time of the pauses before each, and of all
  size_t next_ = 0;                 // the first operation that starts after the start asked for before
};

}  // namespace gprof
