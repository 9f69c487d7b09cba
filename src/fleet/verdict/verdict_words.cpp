#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "analysis/facts/statistics.h"
#include "base/units.h"
#include "fleet/verdict/fleet_verdict.h"

namespace gprof {
namespace {

constexpr int64_t kClockPercent = 5;
constexpr size_t kPartsOfPath = 4, kRanksOfPath = 3;
constexpr double kWorthSayingPercent = 1;

// "kernels 61.2%, idle: os 30%"
std::string PartsText(const JobPath& path) {
  std::vector<size_t> parts(kPathPartCount);
  std::iota(parts.begin(), parts.end(), size_t{0});
  std::stable_sort(parts.begin(), parts.end(), [&](size_t a, size_t b) { return path.parts_ns[a] > path.parts_ns[b]; });
  std::string text;
  for (size_t i = 0; i < kPartsOfPath; ++i) {
    const double percent = PercentOf(path.parts_ns[parts[i]], path.wall_ns);
    if (percent < kWorthSayingPercent) break;
    text += (text.empty() ? "" : ", ") + PathPartName(parts[i]) + " " + FormatPercent(percent);
  }
  return text;
}

// "rank 390 in 9 of 16 steps, rank 385 in 4, 2 others"
std::string RanksOnPathText(const FleetVerdict& verdict) {
  const auto entries = static_cast<int64_t>(verdict.path.slowest.size());
  const bool are_steps = !verdict.steps.IsOverTime() && verdict.steps.steps_in_one == 1;
  std::string text;
  const std::vector<RankOnPath>& ranks = verdict.path.ranks;
  for (size_t i = 0; i < std::min(ranks.size(), kRanksOfPath); ++i) {
    text += (i == 0 ? "" : ", ") + NameOf(*verdict.ranks[ranks[i].rank].rank) + " in " + FormatCount(ranks[i].entries);
    if (i == 0) text += " of " + CountOf(entries, are_steps ? "step" : "slice");
  }
  if (ranks.size() > kRanksOfPath) {
    text += ", " + CountOf(static_cast<int64_t>(ranks.size() - kRanksOfPath), "other");
  }
  return text;
}

}  // namespace

std::string PathText(const FleetVerdict& verdict) {
  const JobPath& path = verdict.path;
  if (path.wall_ns == 0) return "";
  const std::string parts = PartsText(path) + " of " + FormatNs(static_cast<double>(path.wall_ns));
  if (!path.are_linked) {
    return NameOf(*verdict.ranks[path.slowest.front()].rank) +
           ", the longest of ranks that do not wait for one another: " + parts;
  }
  std::string text = parts + "; " + RanksOnPathText(verdict);
  const double less = PercentOf(path.above_median_ns, path.wall_ns);
  if (less >= kWorthSayingPercent) {
    text += "; up to " + FormatNs(static_cast<double>(path.above_median_ns)) + " (" + FormatPercent(less) +
            ") shorter if no rank were slower than the median";
  }
  return text;
}

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
