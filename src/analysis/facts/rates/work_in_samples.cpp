#include "analysis/facts/rates/work_in_samples.h"

#include <algorithm>

namespace gprof {

void WorkInSamples::Add(uint32_t column, int64_t ns) {
  if (ns <= 0) return;
  if (ns_[column] == 0) met_.push_back(column);
  ns_[column] += ns;
}

std::span<const ColumnShare> WorkInSamples::In(const Interval& sample) {
  for (; next_ < work_.size() && work_[next_].start_ns + shift_.start_ns < sample.end_ns; ++next_) {
    const RatedWork& one = work_[next_];
    const Interval seen{one.start_ns + shift_.start_ns, one.end_ns + shift_.end_ns};
    if (seen.end_ns > sample.start_ns && seen.end_ns > seen.start_ns)
      running_.push_back({seen.start_ns, seen.end_ns, one.column});
  }
  edges_.clear();
  int64_t known_ns = sample.start_ns, idle_ns = 0;  // until when it is known whether anything runs
  std::size_t kept = 0;
  for (const RatedWork& one : running_) {
    if (one.end_ns <= sample.start_ns) continue;
    const Interval within{std::max(one.start_ns, sample.start_ns), std::min(one.end_ns, sample.end_ns)};
    idle_ns += std::max<int64_t>(within.start_ns - known_ns, 0);
    const int64_t first_ns = together_ == Together::kAddUp ? within.start_ns : std::max(within.start_ns, known_ns);
    Add(one.column, within.end_ns - first_ns);
    known_ns = std::max(known_ns, within.end_ns);
    if (one.start_ns > sample.start_ns) edges_.push_back(one.column);
    if (one.end_ns < sample.end_ns) edges_.push_back(one.column);
    if (one.end_ns > sample.end_ns) running_[kept++] = one;
  }
  running_.resize(kept);
  Add(idle_, idle_ns + sample.end_ns - known_ns);
  row_.clear();
  for (const uint32_t column : met_) {
    row_.push_back({column, static_cast<double>(ns_[column]) / static_cast<double>(sample.DurationNs())});
    ns_[column] = 0;
  }
  met_.clear();
  return row_;
}

}  // namespace gprof
