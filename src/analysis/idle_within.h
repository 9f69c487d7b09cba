// How long a device was idle within intervals.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analysis/gap_list.h"

namespace gprof {

class IdleWithin {
 public:
  explicit IdleWithin(const GapList& gaps);

  // Idle time of the device in [start_ns, end_ns). Quick for intervals that lie near the one asked for before.
  int64_t Of(int64_t start_ns, int64_t end_ns);

 private:
  size_t FirstEndingAfter(int64_t time_ns, size_t from) const;
  int64_t Until(int64_t time_ns, size_t gap) const;

  std::vector<int64_t> starts_ns_, ends_ns_;
  std::vector<int64_t> sums_ns_;  // idle time before each gap, and after the last
  size_t last_ = 0;
};

}  // namespace gprof
