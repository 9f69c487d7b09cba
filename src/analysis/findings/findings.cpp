#include "analysis/findings/findings.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>

#include "analysis/facts/statistics.h"
#include "analysis/findings/finding_catalogue.h"
#include "analysis/result/display_names.h"
#include "analysis/result/kept_results.h"

namespace gprof {
namespace {

// Before the others, among them, or after them; in the order in which they compare.
enum class Standing : uint8_t { kLast, kAmong, kFirst };

Standing StandingOf(const Finding& finding) {
  const FindingInfo* info = FindFinding(finding.id);
  const bool is_warning = finding.severity == Severity::kWarning;
  if (info != nullptr && info->turn == Turn::kFirstIfWarning && is_warning) return Standing::kFirst;
  const bool is_last_if_note = info != nullptr && (info->turn == Turn::kLastIfNote || info->turn == Turn::kOnce);
  return is_last_if_note && !is_warning ? Standing::kLast : Standing::kAmong;
}

Layer LayerOf(const Finding& finding) {
  const FindingInfo* info = FindFinding(finding.id);
  return info == nullptr ? Layer::kMechanism : info->layer;
}

bool ComesOnce(const Finding* finding) {
  const FindingInfo* info = FindFinding(finding->id);
  return info != nullptr && info->turn == Turn::kOnce;
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
  int64_t Claim(const Finding& finding, const FindingInfo& info) {
    const std::vector<std::string> times = TimesOf(finding, info);
    const bool is_known = !times.empty() && left_.contains(times.front());
    if (!is_known) return finding.gain_ns;
    int64_t claimed_ns = 0;
    const int64_t unclaimed_ns = Unclaimed(finding, info, times);
    for (const std::string& id : times) {
      const int64_t ns = std::min(left_[id], unclaimed_ns - claimed_ns);
      left_[id] = StandingOf(finding) == Standing::kFirst ? 0 : left_[id] - ns;
      claimed_ns += ns;
      claims_[id].push_back({&finding, ns});
    }
    return claimed_ns;
  }

  // Of its gain. One that has all the idle time of its causes that comes again has it less what those claimed that say
  // why; the totals of the causes are of all the run, with its start.
  int64_t Unclaimed(const Finding& finding, const FindingInfo& info, const std::vector<std::string>& ids) const {
    int64_t left_ns = finding.gain_ns;
    for (const std::string& id : ids) {
      const auto found = claims_.find(id);
      if (!info.is_all_of_its_causes || found == claims_.end()) continue;
      for (const auto& [other, ns] : found->second) left_ns -= ns;
    }
    return std::max<int64_t>(0, left_ns);
  }

  // Who claimed most of what the finding is about.
  const Finding* MainClaimant(const Finding& finding, const FindingInfo& info) const {
    std::map<const Finding*, int64_t> claimants;
    for (const std::string& id : TimesOf(finding, info)) {
      const auto found = claims_.find(id);
      if (found == claims_.end()) continue;
      for (const auto& [other, ns] : found->second) claimants[other] += other == &finding ? 0 : ns;
    }
    const auto most = std::max_element(claimants.begin(), claimants.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    return most == claimants.end() || most->second == 0 ? nullptr : most->first;
  }

 private:
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

bool ComesFirst(const RankedFinding& a, const RankedFinding& b) {
  const auto key = [](const RankedFinding& r) {
    return std::tuple(StandingOf(*r.finding), r.gain_ns, r.finding->severity);
  };
  if (key(a) != key(b)) return key(a) > key(b);
  const auto order = [](const RankedFinding& r) {
    return std::tuple(LayerOf(*r.finding), r.finding->id, r.finding->message);
  };
  return order(a) < order(b);
}

// Who finds less than half of its time unclaimed says what others have said.
void Claim(const Finding& finding, Ledger* ledger, RankedFinding* ranked) {
  const FindingInfo* info = FindFinding(finding.id);
  *ranked = {&finding, finding.gain_ns, nullptr, false};
  if (finding.gain_ns <= 0 || info == nullptr) return;
  ranked->gain_ns = ledger->Claim(finding, *info);
  if (2 * ranked->gain_ns < finding.gain_ns) ranked->leader = ledger->MainClaimant(finding, *info);
}

// Information, and what would win less than 1 % of the GPU's window: nobody should begin with that.
bool IsMinor(const RankedFinding& ranked, int64_t window_ns) {
  constexpr double kMinorPercent = 1;
  if (ranked.finding->gain_ns == 0) return ranked.finding->severity == Severity::kInfo;
  return window_ns > 0 && PercentOf(ranked.gain_ns, window_ns) < kMinorPercent;
}

// What would win less than a tenth of what a warning about what comes again and again does is not to be done next,
// either.
void MarkSmallBesideWarnings(std::vector<RankedFinding>* ranked) {
  int64_t most_ns = 0;
  for (const RankedFinding& r : *ranked) {
    if (r.finding->severity != Severity::kWarning || r.leader != nullptr || ComesOnce(r.finding)) continue;
    if (LayerOf(*r.finding) == Layer::kDetail) continue;  // that is more to say of another finding
    most_ns = std::max(most_ns, r.gain_ns);
  }
  for (RankedFinding& r : *ranked) {
    if (r.finding->severity == Severity::kNote && r.gain_ns > 0) r.is_minor |= r.gain_ns < most_ns / 10;
  }
}

// Where the whole run is start-up, a program that saves less than that runs as long as before.
void MarkWhatNobodyNotices(std::vector<RankedFinding>* ranked) {
  constexpr int64_t kNoticedNs = 100'000;
  const auto is_start_up = [](const RankedFinding& r) { return r.finding->id == "startup.only"; };
  if (std::none_of(ranked->begin(), ranked->end(), is_start_up)) return;
  for (RankedFinding& r : *ranked) r.is_minor |= r.gain_ns > 0 && r.gain_ns < kNoticedNs;
}

// A longer run has what comes again and again, so that its warnings come before what comes once, however long that
// took; but for those that would win next to nothing of it. `end`: of those that lead.
void MoveOnceBehindWarnings(std::vector<RankedFinding>* ranked, std::vector<RankedFinding>::iterator end) {
  constexpr int64_t kHardlyAnything = 20, kNoticedNs = 5'000'000;  // of what comes once, that part; and less than that
  int64_t once_ns = 0;
  for (auto r = ranked->begin(); r != end; ++r) {
    const bool is_of_window = r->finding->id == "startup.first_launches" && r->finding->severity == Severity::kWarning;
    if (is_of_window) once_ns = std::max(once_ns, r->gain_ns);
  }
  const auto is_steady_warning = [&](const RankedFinding& r) {
    const bool is_more_of_another = LayerOf(*r.finding) == Layer::kDetail;
    return r.finding->severity == Severity::kWarning && !ComesOnce(r.finding) && !is_more_of_another &&
           (kHardlyAnything * r.gain_ns >= once_ns || r.gain_ns >= kNoticedNs);
  };
  const auto last = std::find_if(std::make_reverse_iterator(end), ranked->rend(), is_steady_warning);
  std::stable_partition(ranked->begin(), last.base(), [](const RankedFinding& r) { return !ComesOnce(r.finding); });
}

bool IsAboutTheSameTime(const Finding& a, const Finding& b) {
  const FindingInfo *of_a = FindFinding(a.id), *of_b = FindFinding(b.id);
  return of_a != nullptr && of_b != nullptr && of_a->claims.ids[0] == of_b->claims.ids[0];
}

// Why the GPU waits, which says more than that kernels run for most of the time.
bool SaysWhyItWaits(const RankedFinding& r) {
  const FindingInfo* info = FindFinding(r.finding->id);
  return info != nullptr && r.finding->severity == Severity::kWarning && info->layer < Layer::kPlace &&
         info->turn != Turn::kOnce && info->claims.ids[0].starts_with("idle.");
}

// A few pauses are no pattern: what recurs comes first where it would save at least half as much. `end`: of those that
// lead.
void MovePausesBehindPatterns(std::vector<RankedFinding>* ranked, std::vector<RankedFinding>::iterator end) {
  constexpr int64_t kPartOfThePauses = 2;
  const auto is_of_pauses = [](const RankedFinding& r) { return r.finding->id == "idle.pauses"; };
  const auto pauses = std::find_if(ranked->begin(), end, is_of_pauses);
  if (pauses == end) return;
  const auto last = std::find_if(std::make_reverse_iterator(end), std::make_reverse_iterator(pauses + 1),
                                 [gain_ns = pauses->gain_ns](const RankedFinding& r) {
                                   return SaysWhyItWaits(r) && kPartOfThePauses * r.gain_ns >= gain_ns;
                                 });
  std::rotate(pauses, pauses + 1, last.base());
}

// What kernels take, as far as it is known what graphs run.
bool IsOfKernels(const RankedFinding& r) {
  return r.finding->id == "gpu.kernel_bound" || r.finding->id == "gpu.graph_bound";
}

// Says where idle time went and no more. So do a few kernels that start late: they are no reason why the others take
// their time.
bool SaysOnlyWhere(const RankedFinding& r) {
  const bool are_few_late = r.finding->id == "launch.bound" && r.finding->severity != Severity::kWarning;
  return LayerOf(*r.finding) == Layer::kPlace || are_few_late;
}

// Of findings that only say where time went, the one with most of it comes first: what could be won of the kernels is a
// guess, and a low one. `end`: of those that lead.
void MoveShortIdleBehindKernels(std::vector<RankedFinding>* ranked, std::vector<RankedFinding>::iterator end,
                                int64_t kernel_ns) {
  constexpr int64_t kTimesAsLong = 3;
  const auto kernels = std::find_if(ranked->begin(), end, IsOfKernels);
  if (kernels == end || std::any_of(ranked->begin(), end, SaysWhyItWaits)) return;
  std::stable_partition(ranked->begin(), kernels + 1, [&](const RankedFinding& r) {
    return IsOfKernels(r) || !SaysOnlyWhere(r) || IsAboutTheSameTime(*r.finding, *kernels->finding) ||
           kTimesAsLong * r.gain_ns > kernel_ns;
  });
}

int64_t TotalOf(std::span<const Metric> totals, std::string_view id) {
  const auto total =
      std::find_if(totals.begin(), totals.end(), [&](const Metric& m) { return m.id == id && m.scope.empty(); });
  return total == totals.end() ? 0 : static_cast<int64_t>(total->value);
}

// More to say of a place than something to do first: who calls a library does not choose its grids, either.
bool IsMoreOfAPlace(const Finding& finding) {
  const bool is_of_library = finding.id == "occupancy.small_grid" && IsLibraryKernel(finding.subject.kernel);
  return LayerOf(finding) == Layer::kDetail || is_of_library;
}

// Who reads that kernels take all the time reads next what can be said of them, however much that would save. `end`: of
// those that lead.
void MoveDetailsBehindPlaces(std::vector<RankedFinding>* ranked, std::vector<RankedFinding>::iterator end) {
  for (auto place = ranked->begin(); place != end; ++place) {
    if (LayerOf(*place->finding) != Layer::kPlace) continue;
    const auto is_detail = [about = place->finding](const RankedFinding& r) {
      return IsMoreOfAPlace(*r.finding) && IsAboutTheSameTime(*r.finding, *about);
    };
    // Those before it change places with it, and those after it follow.
    const auto details = std::stable_partition(ranked->begin(), place, std::not_fn(is_detail));
    std::rotate(details, place, place + 1);
    place = details;
    std::stable_partition(place + 1, end, is_detail);
  }
}

// What is copied once is no more of a longer run, whose kernels are. `end`: of those that lead.
void MoveCopiesBehindKernels(std::vector<RankedFinding>* ranked, std::vector<RankedFinding>::iterator end) {
  const auto kernels = std::find_if(ranked->begin(), end, IsOfKernels);
  if (kernels == end) return;
  std::stable_partition(ranked->begin(), kernels + 1,
                        [](const RankedFinding& r) { return !r.finding->id.starts_with("memcpy."); });
}

}  // namespace

void RankFindings(std::vector<Finding>* findings) {
  std::stable_sort(findings->begin(), findings->end(), [](const Finding& a, const Finding& b) {
    return std::tie(b.gain_ns, b.severity, a.id, a.message) < std::tie(a.gain_ns, a.severity, b.id, b.message);
  });
}

std::vector<RankedFinding> JudgeFindings(const std::vector<Finding>& findings, std::span<const Metric> totals,
                                         const JudgedBasis& judged) {
  std::vector<const Finding*> order;
  for (const Finding& finding : findings) order.push_back(&finding);
  // Why before what, and what before where.
  std::stable_sort(order.begin(), order.end(),
                   [](const Finding* a, const Finding* b) { return LayerOf(*a) < LayerOf(*b); });
  std::stable_partition(order.begin(), order.end(),
                        [&](const Finding* finding) { return StandingOf(*finding) == Standing::kFirst; });
  std::stable_partition(order.begin(), order.end(), [](const Finding* finding) { return !ComesOnce(finding); });
  Ledger ledger(totals);
  std::vector<RankedFinding> ranked(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    Claim(*order[i], &ledger, &ranked[i]);
    ranked[i].is_minor = IsMinor(ranked[i], judged.window_ns);
  }
  MarkSmallBesideWarnings(&ranked);
  MarkWhatNobodyNotices(&ranked);
  std::stable_sort(ranked.begin(), ranked.end(), ComesFirst);
  const auto end = std::stable_partition(ranked.begin(), ranked.end(),
                                         [](const RankedFinding& r) { return r.leader == nullptr && !r.is_minor; });
  MoveOnceBehindWarnings(&ranked, end);
  MovePausesBehindPatterns(&ranked, end);
  MoveShortIdleBehindKernels(&ranked, end, TotalOf(totals, "gpu.kernel_ns"));
  MoveDetailsBehindPlaces(&ranked, end);
  if (judged.are_copies_once) MoveCopiesBehindKernels(&ranked, end);
  return ranked;
}

std::string NameOfUsedDevices(const Trace& trace) {
  const std::vector<uint32_t> used = UsedDevices(trace);
  if (used.empty()) return "no GPU";
  return used.size() == 1 ? DeviceScope(trace, used.front()) : std::to_string(used.size()) + " GPUs";
}

}  // namespace gprof
