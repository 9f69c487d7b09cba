#include "analysis/idle/gaps/idle_within.h"

#include <algorithm>

#include "analysis/facts/search_near.h"

namespace gprof {

IdleWithin::IdleWithin(const Trace& trace, const GapList& gaps) : trace_(trace), gaps_(gaps), paused_ns_{0} {
  for (const Interval& pause : gaps.pauses()) paused_ns_.push_back(paused_ns_.back() + pause.DurationNs());
}

int64_t IdleWithin::Of(int64_t start_ns, int64_t end_ns) {
  next_ = FirstAfter(start_ns, next_);
  const int64_t idle_ns = gaps_.IdleUntil(end_ns, FirstAfter(end_ns, next_)) - gaps_.IdleUntil(start_ns, next_);
  return gaps_.pauses().empty() ? idle_ns : idle_ns - (PausedUntil(end_ns) - PausedUntil(start_ns));
}

// Counted from the first operation of the device.
size_t IdleWithin::FirstAfter(int64_t time_ns, size_t hint) const {
  const Trace::Slice ops = gaps_.ops();
  return PartitionPointNear(ops.last - ops.first, hint,
                            [&](size_t i) { return trace_.ops[ops.first + i].start_ns <= time_ns; });
}

int64_t IdleWithin::PausedUntil(int64_t time_ns) const {
  const std::vector<Interval>& pauses = gaps_.pauses();
  const auto after = std::partition_point(pauses.begin(), pauses.end(),
                                          [&](const Interval& pause) { return pause.end_ns <= time_ns; });
  const int64_t within_ns = after == pauses.end() ? 0 : std::max<int64_t>(0, time_ns - after->start_ns);
  return paused_ns_[static_cast<size_t>(after - pauses.begin())] + within_ns;
}

}  // namespace gprof
