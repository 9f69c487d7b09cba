// What a verdict is not about: ranks that are missing, damaged, given twice, or like nobody else.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "base/units.h"
#include "fleet/verdict/fleet_verdict.h"

namespace gprof {
namespace {

constexpr size_t kDuplicatesNamed = 3;

class Absent {
 public:
  explicit Absent(FleetVerdict* verdict) : verdict_(*verdict) {}

  void Find() {
    if (!verdict_.missing.empty()) {
      Add("fleet.missing",
          fmt::format("{} of {} missing: {}", CountOf(static_cast<int64_t>(verdict_.missing.size()), "rank"),
                      FormatCount(verdict_.world_size), RangesText(verdict_.missing)),
          "Add their traces: what they did, and whether they were late, is unknown.");
    }
    for (const RankSummary* rank : verdict_.unreadable) {
      Add("fleet.unreadable", "A trace was excluded: " + rank->unreadable, "");
    }
    FindDamaged();
    if (!verdict_.duplicates.empty()) Add("fleet.duplicate", DuplicatesText(), "");
    FindIncomparable();
  }

 private:
  void Add(const char* id, std::string message, std::string advice, Severity severity = Severity::kWarning) {
    Finding finding;
    finding.id = id;
    finding.severity = severity;
    finding.message = std::move(message);
    finding.advice = std::move(advice);
    verdict_.findings.push_back(std::move(finding));
  }

  // Ranks with the same problems are one finding.
  void FindDamaged() {
    std::map<std::string, std::vector<const RankSummary*>> damaged;
    for (const RankVerdict& rank : verdict_.ranks) {
      if (!rank.rank->is_complete) damaged[Joined(rank.rank->problems, "; ")].push_back(rank.rank);
    }
    for (const auto& [problems, ranks] : damaged) {
      std::vector<int64_t> numbers;
      for (const RankSummary* rank : ranks) numbers.push_back(rank->rank);
      const std::string who = ranks.size() == 1 ? NameOf(*ranks[0]) + " (" + ranks[0]->source + ") is"
                                                : RanksText(std::move(numbers)) + " are";
      Add("fleet.damaged", who + " incomplete" + (problems.empty() ? "" : ": " + problems),
          "Figures cover only the data that is there; see gprof-cli info.");
    }
  }

  // "2 traces were excluded, as another is of the same rank: a.trace (rank 3, as b.trace), ..."
  std::string DuplicatesText() const {
    std::vector<std::string> names;
    for (const FleetVerdict::Duplicate& twice : verdict_.duplicates) {
      names.push_back(twice.excluded->source + " (" + NameOf(*twice.excluded) + ", as " + twice.kept->source + ")");
    }
    const auto count = static_cast<int64_t>(names.size());
    return CountOf(count, "trace") + (count == 1 ? " was" : " were") +
           " excluded, as another is of the same rank: " + JoinedUpTo(kDuplicatesNamed, std::move(names));
  }

  void FindIncomparable() {
    std::vector<int64_t> unknown, with_other_steps;
    const std::vector<std::vector<int64_t>>& map = verdict_.steps.own_ns;
    for (size_t i = 0; i < verdict_.ranks.size(); ++i) {
      const RankVerdict& rank = verdict_.ranks[i];
      if (!rank.IsComparable()) {
        unknown.push_back(rank.rank->rank);
      } else if (!map.empty() && map[i].empty() && rank.rank->is_complete) {
        with_other_steps.push_back(rank.rank->rank);
      }
    }
    const auto have = [](const std::vector<int64_t>& ranks) { return ranks.size() == 1 ? " has" : " have"; };
    if (!unknown.empty()) {
      Add("fleet.not_compared",
          RanksText(unknown) + have(unknown) + " no GPU work, ranges, MPI calls or samples to be compared by",
          "Record NVTX ranges of steps, MPI calls (-t mpi) or CPU samples.", Severity::kNote);
    }
    if (!with_other_steps.empty()) {
      Add("fleet.not_compared",
          RanksText(with_other_steps) + have(with_other_steps) +
              " other steps than most ranks, or another number of them: only sums are compared",
          "", Severity::kNote);
    }
  }

  FleetVerdict& verdict_;
};

}  // namespace

void AddAbsent(FleetVerdict* verdict) { Absent(verdict).Find(); }

std::string RanksText(std::vector<int64_t> ranks) {
  std::ranges::sort(ranks);
  if (ranks.front() < 0) return CountOf(static_cast<int64_t>(ranks.size()), "process", "processes");
  return (ranks.size() == 1 ? "rank " : "ranks ") + RangesText(ranks);
}

}  // namespace gprof
