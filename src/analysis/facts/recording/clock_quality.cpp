#include "analysis/facts/recording/clock_quality.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace gprof {
namespace {

struct Reading {
  double host_ns = 0, other = 0;  // from the first reading of the clock
};

// Of readings of two clocks at the same instants.
class Pair {
 public:
  void Add(uint64_t host_ns, uint64_t other) {
    if (readings_.empty()) first_host_ = host_ns, first_other_ = other;
    readings_.push_back({Distance(first_host_, host_ns), Distance(first_other_, other)});
  }

  void Sort() { std::ranges::sort(readings_, {}, &Reading::host_ns); }

  // In ns of the host.
  double LargestResidual() const {
    double largest = 0;
    for (size_t i = 1; i + 1 < readings_.size(); ++i) {
      const Reading &before = readings_[i - 1], &at = readings_[i], &after = readings_[i + 1];
      if (after.other <= before.other) continue;
      const double line_ns =
          before.host_ns + (at.other - before.other) * (after.host_ns - before.host_ns) / (after.other - before.other);
      largest = std::max(largest, std::fabs(at.host_ns - line_ns));
    }
    return largest;
  }

  // Of clocks that both count ns.
  double DriftPpm() const {
    if (readings_.size() < 2) return 0;
    const double host_ns = readings_.back().host_ns - readings_.front().host_ns;
    const double other_ns = readings_.back().other - readings_.front().other;
    return host_ns > 0 ? 1e6 * (other_ns - host_ns) / host_ns : 0;
  }

 private:
  // Clocks count from far away: differences are exact where the values themselves are not.
  static double Distance(uint64_t from, uint64_t to) {
    return to >= from ? static_cast<double>(to - from) : -static_cast<double>(from - to);
  }

  std::vector<Reading> readings_;
  uint64_t first_host_ = 0, first_other_ = 0;
};

}  // namespace

int64_t ClockQuality::AgreeNs() const {
  return std::max({read_within_ns, tsc_residual_ns, cupti_residual_ns, early_ns});
}

ClockQuality QualityOfClocks(const Trace& trace) {
  ClockQuality quality;
  quality.early_ns = trace.health.worst_early_ns;
  std::vector<Pair> tsc(trace.processes.size()), cupti(trace.processes.size());
  for (const Clock& clock : trace.clocks) {
    const trace::ClockRecord& r = clock.anchor;
    quality.host_readings += r.realtime_ns != 0;
    quality.cupti_readings += r.cupti_ns != 0;
    quality.read_within_ns =
        std::max(quality.read_within_ns, static_cast<int64_t>(std::min<uint64_t>(r.uncertainty_ns, INT64_MAX)));
    if (clock.process == kNone) continue;
    if (r.tsc != 0) tsc[clock.process].Add(r.monotonic_ns, r.tsc);
    if (r.cupti_ns != 0) cupti[clock.process].Add(r.monotonic_ns, r.cupti_ns);
  }
  const auto whole = [](double ns) { return static_cast<int64_t>(std::min(std::ceil(ns), 1e18)); };
  for (size_t i = 0; i < trace.processes.size(); ++i) {
    tsc[i].Sort(), cupti[i].Sort();
    quality.tsc_residual_ns = std::max(quality.tsc_residual_ns, whole(tsc[i].LargestResidual()));
    quality.cupti_residual_ns = std::max(quality.cupti_residual_ns, whole(cupti[i].LargestResidual()));
    const double drift = cupti[i].DriftPpm();
    if (std::fabs(drift) > std::fabs(quality.cupti_drift_ppm)) quality.cupti_drift_ppm = drift;
  }
  return quality;
}

}  // namespace gprof
