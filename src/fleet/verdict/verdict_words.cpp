#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "base/units.h"
#include "fleet/verdict/fleet_verdict.h"

namespace gprof {
namespace {

constexpr int64_t kClockPercent = 5;

}  // namespace

std::string RangesText(const std::vector<int64_t>& sorted) {
  std::string text;
  for (size_t i = 0; i < sorted.size();) {
    size_t last = i;
    while (last + 1 < sorted.size() && sorted[last + 1] == sorted[last] + 1) ++last;
    text += (text.empty() ? "" : ", ") + std::to_string(sorted[i]);
    if (last > i) text += "-" + std::to_string(sorted[last]);
    i = last + 1;
  }
  return text;
}

std::string ClockText(const FleetVerdict& verdict, const RankSummary& rank) {
  std::string text;
  std::vector<int64_t> clocks;
  for (const RankVerdict& r : verdict.ranks) {
    if (r.rank->clock_mhz > 0) clocks.push_back(r.rank->clock_mhz);
  }
  if (rank.clock_mhz > 0) {
    const int64_t median = MedianOf(std::move(clocks));
    const bool is_lower = 100 * (median - rank.clock_mhz) > kClockPercent * median;
    text = fmt::format("SM clock {} MHz (median rank {} MHz{})", FormatCount(rank.clock_mhz), FormatCount(median),
                       is_lower ? "" : ": no reason");
  }
  if (rank.throttled_ns > 0)
    text +=
        (text.empty() ? "" : ", ") + std::string("throttled for ") + FormatNs(static_cast<double>(rank.throttled_ns));
  if (rank.ecc_errors > 0) {
    text += (text.empty() ? "" : ", ") + CountOf(rank.ecc_errors, "uncorrected ECC error");
  }
  return text;
}

}  // namespace gprof
