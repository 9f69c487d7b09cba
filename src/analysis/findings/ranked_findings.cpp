#include "analysis/findings/ranked_findings.h"

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>
#include <utility>

#include "analysis/findings/finding_catalogue.h"
#include "analysis/result/statistics.h"

namespace gprof {
namespace {

Layer LayerOf(const Finding& finding) {
  const FindingInfo* info = FindFinding(finding.id);
  return info == nullptr ? Layer::kMechanism : info->layer;
}

bool IsBlocker(const Finding& finding) {
  return LayerOf(finding) == Layer::kBlocker && finding.severity == Severity::kWarning;
}

bool DoesRecur(const Finding& finding, const JudgedBasis& judged) {
  const FindingInfo* info = FindFinding(finding.id);
  if (info == nullptr || info->recurs == Recurs::kAlways) return true;
  return info->recurs == Recurs::kWithCopies && !judged.are_copies_once;
}

// What a reader is told first. A longer run has what recurs again and again, so that a warning about it comes before
// one about what does not, however long that took; and what there is to say of a place comes after the place.
enum class Turn : uint8_t { kBlocker, kWarning, kWarningOfOnce, kNote, kDetail, kNoteOfOnce };

Turn TurnOf(const Finding& finding, const JudgedBasis& judged) {
  if (IsBlocker(finding)) return Turn::kBlocker;
  if (LayerOf(finding) == Layer::kDetail) return Turn::kDetail;
  const bool has_weight = finding.severity == Severity::kWarning && finding.gain_ns > 0;
  if (DoesRecur(finding, judged)) return has_weight ? Turn::kWarning : Turn::kNote;
  // Copies before and after all kernels are those of the data; a longer run has more kernels and no more of them.
  return has_weight && FindFinding(finding.id)->recurs == Recurs::kNever ? Turn::kWarningOfOnce : Turn::kNoteOfOnce;
}

// The time that findings may claim, and who claimed it: every nanosecond goes to one of them.
class Ledger {
 public:
  explicit Ledger(std::span<const Metric> totals) {
    for (const Metric& metric : totals) {
      if (metric.scope.empty()) left_.emplace(metric.id, static_cast<int64_t>(metric.value));
    }
  }

  // Takes what is left of the time that the finding is about, up to its gain. Where the total that
  // fits best is not there, it is all left.
  void Claim(const Finding& finding, const FindingInfo& info, RankedFinding* ranked) {
    const std::vector<std::string> times = TimesOf(finding, info);
    const bool is_known = !times.empty() && left_.contains(times.front());
    if (!is_known) return;
    ranked->gain_ns = 0;
    const int64_t unclaimed_ns = Unclaimed(finding, info, times);
    for (const std::string& id : times) {
      const int64_t ns = std::min(left_[id], unclaimed_ns - ranked->gain_ns);
      left_[id] = IsBlocker(finding) ? 0 : left_[id] - ns;
      ranked->gain_ns += ns;
      if (ns > 0) ranked->claims[id] += ns;
      claims_[id].push_back({&finding, ns});
    }
  }

  // Of its gain. One that has all the idle time of its causes that comes again has it less what those claimed that say
  // why; the totals of the causes are of all the run, with its start.
  int64_t Unclaimed(const Finding& finding, const FindingInfo& info, const std::vector<std::string>& ids) const {
    return info.is_all_of_its_causes ? std::max<int64_t>(0, finding.gain_ns - ClaimedNs(ids)) : finding.gain_ns;
  }

  // Of its time, what no other finding says why it is lost.
  int64_t Unexplained(const Finding& finding, const FindingInfo& info) const {
    return finding.about_ns - ClaimedNs(TimesOf(finding, info));
  }

  // Who claimed most of what the finding is about.
  const Finding* MainClaimant(const Finding& finding, const FindingInfo& info) const {
    std::map<const Finding*, int64_t> claimants;
    for (const std::string& id : TimesOf(finding, info)) {
      const auto found = claims_.find(id);
      if (found == claims_.end()) continue;
      for (const auto& [other, ns] : found->second) claimants[other] += other == &finding ? 0 : ns;
    }
    const auto most = std::ranges::max_element(claimants, {}, [](const auto& x) { return x.second; });
    return most == claimants.end() || most->second == 0 ? nullptr : most->first;
  }

 private:
  // Of these times, by all findings so far.
  int64_t ClaimedNs(const std::vector<std::string>& ids) const {
    int64_t claimed_ns = 0;
    for (const std::string& id : ids) {
      const auto found = claims_.find(id);
      if (found == claims_.end()) continue;
      for (const auto& [finding, ns] : found->second) claimed_ns += ns;
    }
    return claimed_ns;
  }

  static std::vector<std::string> TimesOf(const Finding& finding, const FindingInfo& info) {
    std::vector<std::string> ids;
    if (info.claims_its_causes) {
      for (const std::string& cause : finding.subject.causes) ids.push_back("idle." + cause + "_ns");
    }
    if (!ids.empty()) return ids;
    for (const std::string_view id : info.claims.ids) {
      if (!id.empty()) ids.emplace_back(id);
    }
    return ids;
  }

  std::map<std::string, int64_t, std::less<>> left_;
  std::map<std::string, std::vector<std::pair<const Finding*, int64_t>>> claims_;
};

// Who finds less than half of its time unclaimed says what others have said.
void Claim(const Finding& finding, Ledger* ledger, RankedFinding* ranked) {
  const FindingInfo* info = FindFinding(finding.id);
  *ranked = {.finding = &finding, .gain_ns = finding.gain_ns, .weight_ns = finding.gain_ns};
  if (finding.gain_ns <= 0 || info == nullptr) return;
  const int64_t unexplained_ns = ledger->Unexplained(finding, *info);
  ledger->Claim(finding, *info, ranked);
  ranked->weight_ns = std::max(ranked->gain_ns, unexplained_ns);
  if (2 * ranked->gain_ns < finding.gain_ns) ranked->leader = ledger->MainClaimant(finding, *info);
}

// That a kernel is bound by something follows the most important finding that says why, where those that do explain
// half of it together: then it says what they have said, as in Claim().
void FollowWhy(std::vector<RankedFinding>* ranked) {
  const auto is_of_counters = [](const Finding& finding) {
    const FindingInfo* info = FindFinding(finding.id);
    return info != nullptr && info->table == "counters" && !finding.subject.kernel.empty();
  };
  for (RankedFinding& r : *ranked) {
    if (!is_of_counters(*r.finding) || LayerOf(*r.finding) != Layer::kPlace || r.leader != nullptr) continue;
    int64_t explained_ns = 0;
    const Finding* main = nullptr;
    for (const RankedFinding& other : *ranked) {
      const Finding& why = *other.finding;
      if (!is_of_counters(why) || LayerOf(why) >= Layer::kPlace) continue;
      if (why.subject.kernel != r.finding->subject.kernel) continue;
      explained_ns += why.gain_ns;
      if (main == nullptr || why.gain_ns > main->gain_ns) main = &why;
    }
    if (2 * explained_ns >= r.finding->gain_ns) r.leader = main;
  }
}

// What nobody should begin with: information, less than 1 % of the GPU's window, and less than a tenth of the largest
// saving that there is in each repetition.
void MarkMinor(const JudgedBasis& judged, std::vector<RankedFinding>* ranked) {
  constexpr int64_t kTimesSmaller = 10;
  constexpr double kMinorPercent = 1;
  int64_t most_ns = 0;
  for (const RankedFinding& r : *ranked) {
    if (r.leader == nullptr && TurnOf(*r.finding, judged) == Turn::kWarning) most_ns = std::max(most_ns, r.gain_ns);
  }
  for (RankedFinding& r : *ranked) {
    const bool is_small = r.gain_ns < most_ns / kTimesSmaller ||
                          (judged.window_ns > 0 && PercentOf(r.gain_ns, judged.window_ns) < kMinorPercent);
    const bool has_no_weight = r.finding->severity == Severity::kInfo;
    r.is_minor = r.finding->gain_ns == 0 ? has_no_weight : is_small && !IsBlocker(*r.finding);
  }
}

}  // namespace

void RankFindings(std::vector<Finding>* findings) {
  std::ranges::stable_sort(*findings, [](const Finding& a, const Finding& b) {
    return std::tie(b.gain_ns, b.severity, a.id, a.message) < std::tie(a.gain_ns, a.severity, b.id, b.message);
  });
}

std::optional<double> RankedFinding::PercentOfRun() const {
  if (run_ns <= 0 || GainNs() <= 0) return std::nullopt;
  return PercentOf(GainNs(), run_ns * static_cast<int64_t>(gpus));
}

std::vector<RankedFinding> JudgeFindings(const std::vector<Finding>& findings, std::span<const Metric> totals,
                                         const JudgedBasis& judged) {
  std::vector<const Finding*> order;
  for (const Finding& finding : findings) order.push_back(&finding);
  // Who claims time first: a blocker, then why before what and what before where, and last what does not recur.
  std::ranges::stable_sort(order, [&](const Finding* a, const Finding* b) {
    const auto key = [&](const Finding& f) { return std::tuple(!IsBlocker(f), !DoesRecur(f, {}), LayerOf(f)); };
    return key(*a) < key(*b);
  });
  Ledger ledger(totals);
  std::vector<RankedFinding> ranked(order.size());
  for (size_t i = 0; i < order.size(); ++i) Claim(*order[i], &ledger, &ranked[i]);
  FollowWhy(&ranked);
  MarkMinor(judged, &ranked);
  std::ranges::stable_sort(ranked, [&](const RankedFinding& a, const RankedFinding& b) {
    const auto key = [&](const RankedFinding& r) {
      const bool leads = r.leader == nullptr && !r.is_minor;
      return std::tuple(!leads, TurnOf(*r.finding, judged), -r.weight_ns, LayerOf(*r.finding), r.finding->id,
                        r.finding->message);
    };
    return key(a) < key(b);
  });
  return ranked;
}

}  // namespace gprof
