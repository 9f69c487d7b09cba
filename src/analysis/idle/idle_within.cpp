#include "analysis/idle/idle_within.h"

#include <algorithm>

#include "analysis/facts/search_near.h"

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
  last_ = Find(0, INT64_MIN);
}

int64_t IdleWithin::Of(int64_t start_ns, int64_t end_ns) {
  last_ = GoOn(last_, start_ns);
  const int64_t paused_ns = gaps_.pauses().empty() ? 0 : PausedUntil(end_ns) - PausedUntil(start_ns);
  return Until(end_ns, GoOn(last_, end_ns)) - Until(start_ns, last_) - paused_ns;
}

// Most places are a few operations after the one before.
IdleWithin::Place IdleWithin::GoOn(const Place& from, int64_t time_ns) const {
  constexpr size_t kMostSteps = 16;
  const Trace::Slice ops = gaps_.ops();
  const size_t size = ops.last - ops.first, last = std::min(size, from.next + kMostSteps);
  const PackedOps::Item* const items = trace_.ops.items().data() + ops.first;
  if (from.next > 0 && items[from.next - 1].start_ns() > time_ns) return Find(from.next, time_ns);
  Place place = from;
  while (place.next < last && items[place.next].start_ns() <= time_ns) {
    if (++place.next < size) place.idle_ns += gaps_.IdleBefore(ops.first + static_cast<uint32_t>(place.next));
  }
  return place.next < last || place.next == size ? place : Find(place.next, time_ns);
}

IdleWithin::Place IdleWithin::Find(size_t near, int64_t time_ns) const {
  const Trace::Slice ops = gaps_.ops();
  const size_t size = ops.last - ops.first;
  const PackedOps::Item* const items = trace_.ops.items().data() + ops.first;
  const size_t next = PartitionPointNear(size, near, [&](size_t i) { return items[i].start_ns() <= time_ns; });
  if (size == 0) return {};
  const size_t stride = std::min(next / kStride, sums_ns_.size() - 1), last = std::min(size, next + 1);
  return {next, sums_ns_[stride] + gaps_.IdleBeforeAll(ops.first + static_cast<uint32_t>(stride * kStride),
                                                       ops.first + static_cast<uint32_t>(last))};
}

int64_t IdleWithin::Until(int64_t time_ns, const Place& place) const {
  return gaps_.IdleUntil(time_ns, gaps_.ops().first + static_cast<uint32_t>(place.next), place.idle_ns);
}

int64_t IdleWithin::PausedUntil(int64_t time_ns) const {
  const std::vector<Interval>& pauses = gaps_.pauses();
  const auto after = std::partition_point(pauses.begin(), pauses.end(),
                                          [&](const Interval& pause) { return pause.end_ns <= time_ns; });
  const int64_t within_ns = after == pauses.end() ? 0 : std::max<int64_t>(0, time_ns - after->start_ns);
  return paused_ns_[static_cast<size_t>(after - pauses.begin())] + within_ns;
}

}  // namespace gprof
