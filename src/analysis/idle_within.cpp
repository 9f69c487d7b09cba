#include "analysis/idle_within.h"

#include <algorithm>

#include "analysis/near.h"

namespace gprof {

IdleWithin::IdleWithin(const Trace& trace, const GapList& gaps) : trace_(trace), gaps_(gaps) {
  const Trace::Slice ops = gaps.ops();
  sums_ns_.reserve((ops.last - ops.first) / kStride + 1);
  int64_t sum_ns = 0;
  for (uint32_t i = ops.first; i < ops.last; i += kStride) {
    sums_ns_.push_back(sum_ns);
    sum_ns += gaps.IdleBeforeAll(i, std::min(ops.last, i + kStride));
  }
  paused_ns_.push_back(0);
  for (const Interval& pause : gaps.pauses()) paused_ns_.push_back(paused_ns_.back() + pause.DurationNs());
}

int64_t IdleWithin::Of(int64_t start_ns, int64_t end_ns) {
  const size_t first = FirstAfter(start_ns, last_), last = FirstAfter(end_ns, first);
  last_ = first;
  return Until(end_ns, last) - Until(start_ns, first) - (PausedUntil(end_ns) - PausedUntil(start_ns));
}

// The first operation that starts later, counted from the first of the device.
size_t IdleWithin::FirstAfter(int64_t time_ns, size_t near) const {
  const Trace::Slice ops = gaps_.ops();
  return PartitionPointNear(ops.last - ops.first, near,
                            [&](size_t i) { return trace_.ops[ops.first + i].start_ns <= time_ns; });
}

int64_t IdleWithin::Until(int64_t time_ns, size_t next) const {
  const Trace::Slice ops = gaps_.ops();
  const size_t size = ops.last - ops.first;
  const size_t stride = std::min(next / kStride, sums_ns_.empty() ? 0 : sums_ns_.size() - 1);
  const size_t last = std::min(size, next + 1);
  const int64_t sum_ns = (sums_ns_.empty() ? 0 : sums_ns_[stride]) +
                         gaps_.IdleBeforeAll(ops.first + static_cast<uint32_t>(stride * kStride),
                                             ops.first + static_cast<uint32_t>(last));
  return gaps_.IdleUntil(time_ns, ops.first + static_cast<uint32_t>(next), sum_ns);
}

int64_t IdleWithin::PausedUntil(int64_t time_ns) const {
  const std::vector<Interval>& pauses = gaps_.pauses();
  if (pauses.empty()) return 0;
  const auto after = std::partition_point(pauses.begin(), pauses.end(),
                                          [&](const Interval& pause) { return pause.end_ns <= time_ns; });
  const int64_t within_ns = after == pauses.end() ? 0 : std::max<int64_t>(0, time_ns - after->start_ns);
  return paused_ns_[static_cast<size_t>(after - pauses.begin())] + within_ns;
}

}  // namespace gprof
