#include "fleet/verdict/fleet_verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "analysis/facts/operations/used_devices.h"
#include "analysis/findings/finding_catalogue.h"
#include "analysis/result/statistics.h"
#include "base/text.h"
#include "base/units.h"
#include "fleet/verdict/rank_numbers.h"

namespace gprof {
namespace {

constexpr int64_t kSkewedNs = 1'000'000;        // of a clock, and 10 times what the alignment leaves unexplained
constexpr double kNetworkPercent = 10;          // of the wall time
constexpr double kStandsOutPercent = 50;        // a communicator among those of its size
constexpr double kPartWorthSayingPercent = 20;  // of what a straggler has above the median

template <class F>
std::vector<int64_t> ValuesOf(const std::vector<RankVerdict>& ranks, F of) {
  std::vector<int64_t> values;
  for (const RankVerdict& rank : ranks) values.push_back(of(rank));
  return values;
}

class Judge {
 public:
  Judge(const std::vector<RankSummary>& summaries, FleetVerdict* verdict) : verdict_(*verdict) {
    Sort(summaries);
    FindMissing();
  }

  void Run() {
    Ranks ranks;
    for (const RankVerdict& rank : verdict_.ranks) ranks.push_back(rank.rank);
    verdict_.alignment = AlignClocks(ranks);
    const std::vector<Arrivals> arrivals = ArrivalsOf(verdict_.alignment, ranks.size());
    for (size_t i = 0; i < ranks.size(); ++i) {
      verdict_.ranks[i].arrivals = arrivals[i];
      verdict_.ranks[i].own_ns = ranks[i]->OwnNs();
    }
    MakeMatrix();
    verdict_.path = FindJobPath(verdict_.ranks, verdict_.steps, verdict_.alignment);
    Compare();
    if (verdict_.path.turns.AreTaken()) verdict_.findings.push_back(TurnsFinding(verdict_));
    FindStragglers();
    FindNetwork();
    FindSkewedClocks();
    std::ranges::stable_sort(verdict_.findings, std::greater(), &Finding::gain_ns);
    AddHang(&verdict_);
    AddAbsent(&verdict_);
  }

 private:
  // Of several summaries of a rank the one with the most records counts.
  void Sort(const std::vector<RankSummary>& summaries) {
    std::map<std::pair<int64_t, std::string>, std::vector<const RankSummary*>> best;
    for (const RankSummary& s : summaries) {
      if (!s.unreadable.empty()) {
        verdict_.unreadable.push_back(&s);
        continue;
      }
      // Without ranks a process is what was started once on one host.
      const std::string process = fmt::format("{} {} {}", s.host, s.pid, s.start_ns);
      const std::string who = s.rank >= 0 ? "" : s.host.empty() ? s.source : process;
      std::vector<const RankSummary*>& same = best[{s.rank, who}];
      same.push_back(&s);
      if (s.records > same.front()->records) std::swap(same.front(), same.back());
    }
    for (const auto& [key, same] : best) {
      const RankSummary* const summary = same.front();
      for (size_t i = 1; i < same.size(); ++i) verdict_.duplicates.push_back({same[i], summary});
      verdict_.ranks.push_back({});
      verdict_.ranks.back().rank = summary;
      verdict_.world_size = std::max(verdict_.world_size, summary->world_size);
    }
  }

  void FindMissing() {
    constexpr size_t kMostNamed = 1 << 20;
    std::set<int64_t> there;
    for (const RankVerdict& rank : verdict_.ranks) there.insert(rank.rank->rank);
    for (int64_t rank = 0; rank < verdict_.world_size && verdict_.missing.size() < kMostNamed; ++rank) {
      if (there.count(rank) == 0) verdict_.missing.push_back(rank);
    }
  }

  // Ranks that take turns do different things: each is compared with those that have their turn when it has. The others
  // are compared with one another, those without GPU work apart.
  void Compare() {
    std::vector<std::vector<RankVerdict*>> alike(2);
    std::vector<size_t> turn_of(verdict_.ranks.size());
    if (verdict_.path.turns.AreTaken()) {
      for (const RankTurn& turn : verdict_.path.turns.turns) {
        for (const size_t rank : turn.ranks) turn_of[rank] = alike.size();
        alike.emplace_back();
      }
    }
    for (size_t i = 0; i < turn_of.size(); ++i) {
      RankVerdict& rank = verdict_.ranks[i];
      if (!rank.IsComparable()) continue;
      alike[turn_of[i] == 0 && !rank.rank->HasGpuWork() ? 1 : turn_of[i]].push_back(&rank);
    }
    for (const auto& ranks : alike) CompareRanks(ranks);
  }

  // Where records are missing, waiting looks like work. In a run that was killed that is so for all ranks.
  bool IsOnMap(const RankVerdict& rank) const { return rank.rank->is_complete || are_most_incomplete_; }

  void MakeMatrix() {
    const auto complete =
        std::ranges::count_if(verdict_.ranks, [](const RankVerdict& r) { return r.rank->is_complete; });
    are_most_incomplete_ = 2 * static_cast<size_t>(complete) < verdict_.ranks.size();
    std::map<std::pair<std::string, size_t>, size_t> alike;
    for (const RankVerdict& rank : verdict_.ranks) {
      const StepColumns& steps = rank.rank->steps;
      if (!steps.wall_ns.empty() && IsOnMap(rank)) ++alike[{steps.path, steps.wall_ns.size()}];
    }
    if (alike.empty()) return;
    const auto most = std::ranges::max_element(alike, {}, [](const auto& x) { return x.second; });
    StepMatrix& matrix = verdict_.steps;
    matrix.path = most->first.first;
    std::vector<std::vector<int64_t>> columns(most->first.second);
    for (const RankVerdict& rank : verdict_.ranks) {
      const StepColumns& steps = rank.rank->steps;
      matrix.own_ns.emplace_back();
      if (steps.path != matrix.path || steps.wall_ns.size() != columns.size() || !IsOnMap(rank)) continue;
      matrix.steps_in_one = steps.steps_in_one;
      for (size_t i = 0; i < columns.size(); ++i) {
        const int64_t waiting_ns = steps.exposed_ns[i] + steps.idle_ns[static_cast<size_t>(Cause::kMpi)][i];
        matrix.own_ns.back().push_back(std::max<int64_t>(steps.wall_ns[i] - waiting_ns, 0));
        columns[i].push_back(matrix.own_ns.back().back());
      }
    }
    for (const auto& column : columns) matrix.median_ns.push_back(MedianOf(column));
  }

  void FindStragglers() {
    std::map<std::string, size_t> ranks_of_host;
    std::map<std::pair<std::string, size_t>, std::vector<const RankVerdict*>> alike;  // by host and reason
    std::vector<const RankVerdict*> alone;
    for (const RankVerdict& rank : verdict_.ranks) {
      ++ranks_of_host[rank.rank->host];
      if (rank.is_straggler) alike[{rank.rank->host, ReasonOf(rank)}].push_back(&rank);
    }
    for (auto& [key, ranks] : alike) {
      const auto& host = key.first;
      if (!host.empty() && ranks.size() > 1 && 2 * ranks.size() > ranks_of_host[host]) {
        AddGroup(host, ranks);
      } else {
        alone.insert(alone.end(), ranks.begin(), ranks.end());
      }
    }
    AddRails(std::move(alone));
  }

  // Ranks with one number on their hosts share a network rail and a slot: what most of them have in common is one
  // finding.
  void AddRails(std::vector<const RankVerdict*> alone) {
    std::map<int64_t, size_t> ranks_of_rail;
    for (const RankVerdict& rank : verdict_.ranks) ++ranks_of_rail[rank.rank->local_rank];
    std::map<std::pair<int64_t, size_t>, std::vector<const RankVerdict*>> alike;  // by local rank and reason
    for (const RankVerdict* rank : alone) alike[{rank->rank->local_rank, ReasonOf(*rank)}].push_back(rank);
    for (const auto& [key, ranks] : alike) {
      const int64_t rail = key.first;
      if (rail >= 0 && ranks.size() > 2 && 2 * ranks.size() > ranks_of_rail[rail]) {
        AddGroup("local rank " + std::to_string(rail), ranks);
        continue;
      }
      for (const RankVerdict* rank : ranks) {
        AddStraggler(*rank, NameOf(*rank->rank), NameOf(*rank->rank) + WhereText(*rank->rank));
      }
    }
  }

  static size_t ReasonOf(const RankVerdict& rank) {
    return static_cast<size_t>(std::ranges::max_element(rank.excess_ns) - rank.excess_ns.begin());
  }

  // What most ranks of a host have in common is one finding, with the figures of the worst of them.
  void AddGroup(const std::string& group, const std::vector<const RankVerdict*>& ranks) {
    const RankVerdict& worst = **std::ranges::max_element(
        ranks, [](const auto* a, const auto* b) { return a->above_median_ns < b->above_median_ns; });
    std::vector<int64_t> numbers;
    for (const RankVerdict* rank : ranks) numbers.push_back(rank->rank->rank);
    AddStraggler(
        worst, group,
        fmt::format("{} ({}; figures of the slowest, {})", group, RanksText(std::move(numbers)), NameOf(*worst.rank)));
  }

  void AddStraggler(const RankVerdict& rank, const std::string& about, const std::string& who) {
    const size_t reason = ReasonOf(rank);
    Finding finding;
    finding.severity = Severity::kWarning;
    finding.gain_ns = rank.above_median_ns;
    finding.basis = "time not spent waiting for other ranks, above the median";
    finding.subject.process = about;
    finding.message = who + ": ";
    switch (static_cast<Excess>(reason)) {
      case Excess::kLongerKernels:
        SlowGpu(rank, &finding);
        break;
      case Excess::kMoreKernels:
        finding.id = "fleet.more_work";
        finding.message += "more work: its kernels take " + FormatNs(rank.excess_ns[reason]) +
                           " longer because there are more of them" + CountsText(rank);
        finding.advice = "Distribute the work evenly.";
        break;
      case Excess::kLargerKernels:
        finding.id = "fleet.more_work";
        finding.message +=
            fmt::format("more work: its kernels take {} longer because their launches are larger, by {}% in threads",
                        FormatNs(rank.excess_ns[reason]), rank.larger_percent);
        finding.advice = "Distribute the work evenly: tokens, cells or batch sizes differ.";
        break;
      case Excess::kCopies:
        finding.id = "fleet.slow_copies";
        finding.message += "copies with no kernel running take " + FormatNs(rank.excess_ns[reason]) +
                           " longer than on the median rank" + BytesText(rank);
        finding.advice = "Compare the bytes and the memory of its copies, and the link of its GPU.";
        break;
      case Excess::kHost:
        LateHost(rank, &finding);
        break;
    }
    finding.message += ". In all " + FormatNs(rank.above_median_ns) + " (" +
                       FormatPercent(PercentOf(rank.above_median_ns, rank.own_ns - rank.above_median_ns)) +
                       ") above the median rank" + PartsText(rank, reason) + ArrivalText(rank);
    verdict_.findings.push_back(std::move(finding));
  }

  static std::string WhereText(const RankSummary& rank) {
    std::string where = rank.host;
    if (!rank.gpus.empty()) where += (where.empty() ? "" : ", ") + rank.gpus.front();
    if (!rank.gpu_uuids.empty() && !rank.gpu_uuids.front().empty()) where += " " + rank.gpu_uuids.front();
    return where.empty() ? "" : " (" + where + ")";
  }

  void SlowGpu(const RankVerdict& rank, Finding* finding) const {
    finding->id = "fleet.slow_gpu";
    finding->message +=
        fmt::format("slow GPU: the same kernels take {} longer ({}%)",
                    FormatNs(rank.excess_ns[static_cast<size_t>(Excess::kLongerKernels)]), rank.slower_percent);
    const std::string clock = ClockText(verdict_, *rank.rank);
    finding->message += clock.empty() ? "; its clocks were not recorded" : "; " + clock;
    finding->advice =
        "Compare clocks, power limit, temperature and ECC errors of this GPU with the others (gprof-cli monitor, "
        "nvidia-smi -q), and whether other programs use it.";
  }

  void LateHost(const RankVerdict& rank, Finding* finding) const {
    finding->id = "fleet.late_host";
    const auto cause = std::string(InfoOf(rank.cause).name);
    finding->message += rank.rank->HasGpuWork() ? "late host: its GPU is idle for " : "late host: it needs ";
    finding->message += FormatNs(rank.excess_ns[static_cast<size_t>(Excess::kHost)]);
    finding->message += rank.rank->HasGpuWork()
                            ? " longer than that of the median rank, mostly with the cause " + cause
                            : std::string(" more than the median rank, mostly ") + HostWord(rank.cause);
    finding->subject.causes.push_back(cause);
    const int64_t preempted_ns = rank.rank->preempted_ns - rank.median_preempted_ns;
    if (rank.cause == Cause::kHost && 2 * preempted_ns > rank.excess_ns[static_cast<size_t>(Excess::kHost)]) {
      finding->message += ": it was preempted, ready but without a processor, for " +
                          FormatNs(rank.rank->preempted_ns) + " (median rank " + FormatNs(rank.median_preempted_ns) +
                          ")";
      finding->advice = FindFinding("host.preempted")->advice;
      return;
    }
    // A function or line says more than the range it is in. Of a wait it is the call, as lines are those of what came
    // next.
    const bool is_wait = rank.cause == Cause::kOs;
    const auto kinds =
        is_wait ? std::array{"call", "function", "line", "range"} : std::array{"function", "line", "call", "range"};
    for (const char* kind : kinds) {
      const LatePlace* const place = PlaceOf(rank, kind);
      if (place == nullptr) continue;
      finding->message += PlaceText(*place);
      if (kind != std::string_view("range") && !rank.rank->HasGpuWork()) finding->message += RangeText(rank);
      break;
    }
    finding->advice = rank.rank->HasGpuWork() ? std::string(InfoOf(rank.cause).advice)
                      : rank.cause == Cause::kOs
                          ? "Read ahead or in larger pieces, or hold locks for less time."
                          : "Divide this work evenly, or look at what this rank does differently.";
  }

  static const char* HostWord(Cause cause) {
    return cause == Cause::kOs ? "blocked in the operating system" : "in its own code";
  }

  // The place of that kind, if it is a good part of the reason; nullptr: it is not.
  static const LatePlace* PlaceOf(const RankVerdict& rank, std::string_view kind) {
    const auto place = std::ranges::find_if(rank.places, [&](const LatePlace& p) { return p.place->kind == kind; });
    if (place == rank.places.end()) return nullptr;
    const double percent = PercentOf(place->above_ns, rank.excess_ns[static_cast<size_t>(Excess::kHost)]);
    return percent < kPartWorthSayingPercent ? nullptr : &*place;
  }

  static std::string PlaceText(const LatePlace& late) {
    return fmt::format(" ({} {}: {}, median rank {})", late.place->kind, late.place->name,
                       FormatNs(late.place->idle_ns), FormatNs(late.median_ns));
  }

  static std::string RangeText(const RankVerdict& rank) {
    const LatePlace* const range = PlaceOf(rank, "range");
    return range == nullptr ? "" : " in range " + range->place->name;
  }

  static std::string CountsText(const RankVerdict& rank) {
    return " (" + FormatCount(rank.rank->kernels) + " kernels, median rank " + FormatCount(rank.median_kernels) + ")";
  }

  static std::string BytesText(const RankVerdict& rank) {
    return " (" + FormatBytes(CopiedBytes(*rank.rank)) + ", median rank " + FormatBytes(rank.median_bytes) + ")";
  }

  static std::string PartsText(const RankVerdict& rank, size_t reason) {
    constexpr const char* kNames[kExcessCount] = {"longer kernels", "more kernels", "larger kernels", "copies",
                                                  "idle time"};
    std::string text;
    for (size_t i = 0; i < kExcessCount; ++i) {
      if (i == reason || PercentOf(rank.excess_ns[i], rank.above_median_ns) < kPartWorthSayingPercent) continue;
      text += std::string(text.empty() ? ", also " : ", ") + kNames[i] + " " + FormatNs(rank.excess_ns[i]);
    }
    return text;
  }

  static std::string ArrivalText(const RankVerdict& rank) {
    const Arrivals& arrivals = rank.arrivals;
    if (arrivals.collectives == 0 || arrivals.late_ns == 0) return "";
    const bool is_host_late = 10 * arrivals.late_host_ns > arrivals.late_ns;
    return fmt::format("; in {}{} it arrived later than the median rank, by {} in total{}",
                       CountOf(arrivals.collectives, "collective"),
                       arrivals.last > 0 ? " (last in " + FormatCount(arrivals.last) + ")" : "",
                       FormatNs(arrivals.late_ns),
                       is_host_late ? "; its host called NCCL later by " + FormatNs(arrivals.late_host_ns) : "");
  }

  // Long though all arrive together; or longer than on other communicators of the same size.
  void FindNetwork() {
    std::map<size_t, std::vector<int64_t>> transfers;  // by number of members
    std::vector<MeetingTimes> times;
    for (const Meeting& meeting : verdict_.alignment.meetings) {
      times.push_back(TimesOf(meeting, verdict_.alignment));
      transfers[meeting.members.size()].push_back(times.back().transfer_ns);
    }
    const int64_t wall_ns = MedianOf(ValuesOf(verdict_.ranks, [](const RankVerdict& r) { return r.rank->wall_ns; }));
    for (size_t i = 0; i < times.size(); ++i) {
      const Meeting& meeting = verdict_.alignment.meetings[i];
      const int64_t count = meeting.members.front().collectives->count;
      const int64_t typical_ns = MedianOf(transfers[meeting.members.size()]);
      const int64_t all_ns = times[i].transfer_ns * count;
      const bool stands_out = transfers[meeting.members.size()].size() > 2 &&
                              PercentOf(times[i].transfer_ns - typical_ns, typical_ns) > kStandsOutPercent;
      const bool is_together = times[i].spread_ns * 4 < times[i].transfer_ns;
      if (PercentOf(all_ns, wall_ns) < kNetworkPercent || !(stands_out || is_together)) continue;
      Finding finding;
      finding.id = "fleet.network";
      finding.severity = stands_out ? Severity::kWarning : Severity::kNote;
      finding.message = fmt::format(
          "{} of {}: collectives take {} after the last rank has arrived, and the ranks arrive within {} (medians of "
          "{}), {} of the wall time",
          meeting.name, CountOf(static_cast<int64_t>(meeting.members.size()), "rank"), FormatNs(times[i].transfer_ns),
          FormatNs(times[i].spread_ns), FormatCount(times[i].collectives), FormatPercent(PercentOf(all_ns, wall_ns)));
      if (stands_out) {
        finding.message +=
            "; other communicators of this size take " + FormatNs(typical_ns) + ". Its hosts: " + HostsText(meeting);
      }
      finding.advice =
          "No rank is late: look at message sizes, the links between its hosts and GPUs, and the "
          "algorithm of the library.";
      finding.gain_ns = stands_out ? (times[i].transfer_ns - typical_ns) * count : 0;
      finding.basis = "time above that of other communicators of this size";
      verdict_.findings.push_back(std::move(finding));
    }
  }

  std::string HostsText(const Meeting& meeting) const {
    std::set<std::string> hosts;
    for (const auto& member : meeting.members) hosts.insert(verdict_.ranks[member.rank].rank->host);
    return Joined({hosts.begin(), hosts.end()});
  }

  void FindSkewedClocks() {
    const Alignment& alignment = verdict_.alignment;
    for (const ClockOfHost& host : alignment.hosts) {
      const int64_t limit_ns = std::max(kSkewedNs, 10 * alignment.residual_ns);
      if (host.collectives == 0 || std::abs(host.offset_ns) < limit_ns) continue;
      if (!verdict_.ranks[host.ranks.front()].rank->has_day) continue;
      Finding finding;
      finding.id = "fleet.skewed_clock";
      finding.message = fmt::format(
          "{}: its clock is {} {} of the clock of most hosts, by {} (residual {}); times of {} were corrected",
          host.host, FormatNs(std::abs(host.offset_ns)), host.offset_ns > 0 ? "ahead" : "behind",
          CountOf(host.collectives, "collective"), FormatNs(host.residual_ns), RanksText(NumbersOf(host)));
      finding.advice = "Let NTP or PTP set the clock of this host; logs and other tools rely on it.";
      verdict_.findings.push_back(std::move(finding));
    }
  }

  std::vector<int64_t> NumbersOf(const ClockOfHost& host) const {
    std::vector<int64_t> ranks;
    for (const size_t i : host.ranks) ranks.push_back(verdict_.ranks[i].rank->rank);
    return ranks;
  }

  FleetVerdict& verdict_;
  bool are_most_incomplete_ = false;
};

}  // namespace

bool FleetVerdict::HasGpuWork() const {
  return std::ranges::any_of(ranks, [](const RankVerdict& rank) { return rank.rank->HasGpuWork(); });
}

bool StepMatrix::IsOverTime() const { return path == kTimeSlicesPath; }

FleetVerdict JudgeFleet(std::vector<RankSummary>* summaries, uint32_t max_rows, ExactTimes exact) {
  NumberRanks(summaries);
  FleetVerdict verdict;
  verdict.exact = std::move(exact);
  Judge(*summaries, &verdict).Run();
  verdict.tables = FleetTables(verdict, max_rows);
  return verdict;
}

}  // namespace gprof
