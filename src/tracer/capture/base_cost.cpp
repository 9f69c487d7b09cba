#include "tracer/capture/base_cost.h"

#include <algorithm>

namespace gprof::tracer {
namespace {

// A little more than what was measured on an H200 (docs/overhead.md): 46 ns for a range, which has two events, and 307
// for a CUDA call. All as if one thread did it, which is the most that it can cost.
constexpr double kRowNs = 30, kCallNs = 400;

}  // namespace

void BaseCost::Start(double budget) {
  *this = {};
  budget_ = budget;
}

void BaseCost::CountFrom(uint64_t now_ns, bool is_window) {
  is_window_ = is_window;
  since_ns_ = now_ns;
  before_ = row_count;
}

double BaseCost::SinceThen(uint64_t now_ns) const {
  if (now_ns <= since_ns_) return 0;
  const auto passed_ns = static_cast<double>(now_ns - since_ns_);
  const auto ranges = static_cast<double>(row_count.ranges - before_.ranges);
  const auto calls = static_cast<double>(row_count.base_calls - before_.base_calls);
  const auto rows = static_cast<double>(row_count.rows - before_.rows);
  const double cost_ns = is_window_ ? ranges * kRowNs : (rows - calls) * kRowNs + calls * kCallNs;
  return cost_ns / passed_ns;
}

void BaseCost::Measure(double with_ns, double without_ns) {
  if (with_ns > 0 && without_ns > 0) values_[measured_++ % kMeasured] = with_ns / without_ns - 1;
}

double BaseCost::LowerQuartile() const {
  const uint32_t known = std::min(measured_, kMeasured);
  if (known < kEnough) return 0;
  double sorted[kMeasured];
  std::copy(values_, values_ + known, sorted);
  std::sort(sorted, sorted + known);
  return sorted[known / 4];
}

double BaseCost::Share() const { return std::max(expected_, LowerQuartile()); }

}  // namespace gprof::tracer
