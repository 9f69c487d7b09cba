#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "analysis/facts/operations/used_devices.h"
#include "analysis/result/statistics.h"
#include "base/units.h"
#include "fleet/verdict/fleet_verdict.h"

namespace gprof {
namespace {

constexpr int64_t kClockPercent = 5;
constexpr size_t kPartsOfPath = 4, kRanksOfPath = 3, kTurnsNamed = 4, kRangesNamed = 4;
constexpr double kWorthSayingPercent = 1;

// "kernels 61.2%, idle: os 30%"
std::string PartsText(const FleetVerdict& verdict, const PathParts& of, int64_t all_ns) {
  std::vector<size_t> parts(kPathPartCount);
  std::iota(parts.begin(), parts.end(), size_t{0});
  std::ranges::stable_sort(parts, [&](size_t a, size_t b) { return of[a] > of[b]; });
  std::string text;
  for (size_t i = 0; i < kPartsOfPath; ++i) {
    const double percent = PercentOf(of[parts[i]], all_ns);
    if (percent < kWorthSayingPercent) break;
    text += (text.empty() ? "" : ", ") + PathPartName(parts[i], verdict.HasGpuWork()) + " " + FormatPercent(percent);
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

// "0, 4, 8, ..., 1020 (256 ranks)"
std::string FewRangesText(const std::string& ranges, size_t ranks) {
  const auto commas = static_cast<size_t>(std::ranges::count(ranges, ','));
  if (commas < kRangesNamed) return ranges;
  size_t end = 0;
  for (size_t i = 0; i + 1 < kRangesNamed; ++i) end = ranges.find(',', end) + 1;
  return ranges.substr(0, end) + " ..." + ranges.substr(ranges.rfind(',')) + " (" +
         CountOf(static_cast<int64_t>(ranks), "rank") + ")";
}

std::string TurnName(const FleetVerdict& verdict, const RankTurn& turn) {
  return (turn.ranks.size() == 1 ? "rank " : "ranks ") + RanksOf(verdict, turn);
}

// "rank 0 48.2%, ranks 1-3 46.9%, 2 others"
std::string SharesText(const FleetVerdict& verdict) {
  const Turns& turns = verdict.path.turns;
  std::string text;
  for (size_t i = 0; i < std::min(turns.turns.size(), kTurnsNamed); ++i) {
    const RankTurn& turn = turns.turns[i];
    text +=
        (i == 0 ? "" : ", ") + TurnName(verdict, turn) + " " + FormatPercent(PercentOf(turn.path_ns, turns.path_ns));
  }
  const size_t more = turns.turns.size() - std::min(turns.turns.size(), kTurnsNamed);
  return text + (more > 0 ? ", " + CountOf(static_cast<int64_t>(more), "other") : "");
}

}  // namespace

std::string RanksOf(const FleetVerdict& verdict, const RankTurn& turn) {
  std::vector<int64_t> numbers;
  std::string names;
  for (const size_t i : turn.ranks) {
    numbers.push_back(verdict.ranks[i].rank->rank);
    names += (names.empty() ? "" : ", ") + NameInTables(verdict.ranks[i]);
  }
  std::ranges::sort(numbers);
  return numbers.front() < 0 ? names : FewRangesText(RangesText(numbers), numbers.size());
}

Finding TurnsFinding(const FleetVerdict& verdict) {
  const Turns& turns = verdict.path.turns;
  const auto of_step = [&](int64_t ns) { return FormatNs(static_cast<double>(ns) / static_cast<double>(turns.steps)); };
  std::string waits;
  for (size_t i = 0; i < std::min(turns.turns.size(), kTurnsNamed); ++i) {
    const RankTurn& turn = turns.turns[i];
    waits += (i == 0 ? "" : ", ") + TurnName(verdict, turn) + " for " + of_step(turn.waiting_ns);
  }
  Finding finding;
  finding.id = "fleet.turns";
  finding.severity = Severity::kWarning;
  finding.message = "ranks take turns within a step: " + SharesText(verdict) + ", communication " +
                    FormatPercent(PercentOf(turns.communication_ns, turns.path_ns)) + " of the critical path of " +
                    of_step(turns.path_ns) + " a step. While others have their turn, each waits: " + waits;
  finding.advice =
      "Give each rank work while the others have their turn: more and smaller micro-batches, an interleaved schedule, "
      "or messages that are sent before the whole turn is done. Sharing the work more evenly does not shorten the "
      "step.";
  const auto entries = static_cast<int64_t>(verdict.steps.median_ns.size());
  finding.gain_ns = turns.taken_ns / turns.steps * entries * verdict.steps.steps_in_one;
  finding.basis = "time in which one of them works and at least half of the other ranks wait, but for the longest turn";
  return finding;
}

std::string TimeText(const FleetVerdict& verdict) {
  PathParts sum{};
  int64_t all_ns = 0;
  for (const RankVerdict& rank : verdict.ranks) {
    const RankSummary& r = *rank.rank;
    sum[kPathKernels] += r.kernel_ns - r.exposed_ns, sum[kPathExposed] += r.exposed_ns;
    sum[kPathCopies] += r.CopyNs();
    for (size_t cause = 0; cause < kCauseCount; ++cause) sum[kPathIdle + cause] += r.idle_ns[cause];
    all_ns += r.busy_ns + r.IdleNs();
  }
  if (all_ns == 0) return "";
  return PartsText(verdict, sum, all_ns) + " of " + FormatNs(all_ns) + ", all ranks together";
}

std::string NothingText(const FleetVerdict& verdict) {
  std::vector<int64_t> own_ns;
  for (const RankVerdict& rank : verdict.ranks) {
    if (rank.IsComparable()) own_ns.push_back(rank.own_ns);
  }
  if (own_ns.size() < 2) return "Nobody can be compared.";
  const int64_t most_ns = *std::ranges::max_element(own_ns);
  const int64_t ranks = static_cast<int64_t>(own_ns.size()), median_ns = MedianOf(std::move(own_ns));
  return "No rank stands out. The slowest of " + CountOf(ranks, "rank") + " needs " +
         FormatPercent(PercentOf(most_ns - median_ns, median_ns)) + " more time of its own than the median.";
}

std::string PathText(const FleetVerdict& verdict) {
  const JobPath& path = verdict.path;
  if (path.wall_ns == 0) return "";
  if (const Turns& turns = path.turns; turns.AreTaken()) {
    return PartsText(verdict, turns.parts_ns, turns.path_ns) + " of " + FormatNs(turns.path_ns) + " in " +
           CountOf(turns.steps, "step") + "; ranks take turns: " + SharesText(verdict);
  }
  const std::string parts = PartsText(verdict, path.parts_ns, path.wall_ns) + " of " + FormatNs(path.wall_ns);
  if (!path.are_linked) {
    return NameOf(*verdict.ranks[path.slowest.front()].rank) +
           ", the longest of ranks that do not wait for one another: " + parts;
  }
  std::string text = parts + "; " + RanksOnPathText(verdict);
  const double less = PercentOf(path.above_median_ns, path.wall_ns);
  if (less >= kWorthSayingPercent) {
    text += "; up to " + FormatNs(path.above_median_ns) + " (" + FormatPercent(less) +
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
    text += (text.empty() ? "" : ", ") + std::string("throttled for ") + FormatNs(rank.throttled_ns);
  if (rank.ecc_errors > 0) {
    text += (text.empty() ? "" : ", ") + CountOf(rank.ecc_errors, "uncorrected ECC error");
  }
  return text;
}

}  // namespace gprof
