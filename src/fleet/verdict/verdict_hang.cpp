// Ranks that made no progress when their snapshots were taken: who waits in a collective, and who has not come to it.
#include <string>
#include <utility>
#include <vector>

#include "fleet/verdict/fleet_verdict.h"

namespace gprof {
namespace {

constexpr size_t kRanksTold = 4;

std::vector<int64_t> NumbersOf(const std::vector<const RankSummary*>& ranks) {
  std::vector<int64_t> numbers;
  for (const RankSummary* rank : ranks) numbers.push_back(rank->rank);
  return numbers;
}

}  // namespace

void AddHang(FleetVerdict* verdict) {
  std::vector<const RankSummary*> waiting, elsewhere;
  for (const RankVerdict& rank : verdict->ranks) {
    const RankHang& hang = rank.rank->hang;
    if (!hang.collective.empty()) waiting.push_back(rank.rank);
    if (hang.collective.empty() && !hang.thread.empty()) elsewhere.push_back(rank.rank);
  }
  if (waiting.empty() || elsewhere.empty()) return;
  Finding finding;
  finding.id = "fleet.hang";
  finding.severity = Severity::kWarning;
  finding.message = RanksText(NumbersOf(elsewhere)) + (elsewhere.size() == 1 ? " has" : " have") +
                    " not come to a collective that " + RanksText(NumbersOf(waiting)) +
                    (waiting.size() == 1 ? " waits" : " wait") + " in (" + waiting.front()->hang.collective + ")";
  for (size_t i = 0; i < elsewhere.size() && i < kRanksTold; ++i) {
    const std::string who = elsewhere.size() == 1 ? "" : NameOf(*elsewhere[i]) + ": ";
    finding.message += (i == 0 ? ": " : "; ") + who + elsewhere[i]->hang.thread;
  }
  finding.advice = "See what that rank does instead, in the report of its snapshot.";
  finding.subject.process = NameOf(*elsewhere.front());
  verdict->findings.insert(verdict->findings.begin(), std::move(finding));
}

}  // namespace gprof
