#include "analysis/idle_within.h"

#include <algorithm>

namespace gprof {

IdleWithin::IdleWithin(const GapList& gaps) {
  starts_ns_.reserve(gaps.size()), ends_ns_.reserve(gaps.size()), sums_ns_.reserve(gaps.size() + 1);
  sums_ns_.push_back(0);
  gaps.ForEach([&](const Gap& gap) {
    starts_ns_.push_back(gap.start_ns);
    ends_ns_.push_back(gap.end_ns);
    sums_ns_.push_back(sums_ns_.back() + gap.DurationNs());
  });
}

int64_t IdleWithin::Of(int64_t start_ns, int64_t end_ns) {
  const size_t first = FirstEndingAfter(start_ns, last_), last = FirstEndingAfter(end_ns, first);
  last_ = first;
  return Until(end_ns, last) - Until(start_ns, first);
}

// Steps that double, from where the last search ended, then halves.
size_t IdleWithin::FirstEndingAfter(int64_t time_ns, size_t from) const {
  const size_t size = ends_ns_.size();
  size_t low = 0, high = std::min(from, size);
  if (high == 0 || ends_ns_[high - 1] <= time_ns) {
    low = high;
    for (size_t step = 1; high < size && ends_ns_[high] <= time_ns; step *= 2) {
      low = high + 1;
      high = std::min(size, high + step);
    }
  }
  const auto begin = ends_ns_.begin();
  return static_cast<size_t>(
      std::upper_bound(begin + static_cast<std::ptrdiff_t>(low), begin + static_cast<std::ptrdiff_t>(high), time_ns) -
      begin);
}

int64_t IdleWithin::Until(int64_t time_ns, size_t gap) const {
  const int64_t within_ns = gap < starts_ns_.size() ? std::max<int64_t>(0, time_ns - starts_ns_[gap]) : 0;
  return sums_ns_[gap] + within_ns;
}

}  // namespace gprof
