#include "fleet/verdict/turns.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <numeric>
#include <string>
#include <utility>

#include "analysis/facts/time/interval_set.h"
#include "fleet/verdict/fleet_verdict.h"

namespace gprof {
namespace {

constexpr int64_t kTakenPercent = 20;         // of the path
constexpr int64_t kTogetherWorkPercent = 25;  // of the time in which one of them works alone
constexpr int64_t kSoonPercent = 5;           // of a step: a message may arrive when its sender is in the next step

struct StepWait {
  Interval time;
  std::vector<size_t> partners;  // indices into StepWaits::partners
};

// A step of a rank on the clock of the run.
struct StepOfRank {
  Interval time;
  std::vector<StepWait> waits;  // in order, and they do not overlap

  // The wait that is under way at the end of the time before `ns`, or that ended last by then; null: there is none.
  const StepWait* LastBefore(int64_t ns) const {
    const auto at = std::lower_bound(waits.begin(), waits.end(), ns,
                                     [](const StepWait& wait, int64_t t) { return wait.time.start_ns < t; });
    return at == waits.begin() ? nullptr : &*(at - 1);
  }
  int64_t WaitingNs(const Interval& within) const {
    int64_t sum_ns = 0;
    auto at = std::lower_bound(waits.begin(), waits.end(), within.start_ns,
                               [](const StepWait& wait, int64_t t) { return wait.time.end_ns <= t; });
    for (; at != waits.end() && at->time.start_ns < within.end_ns; ++at) {
      sum_ns += OverlapNs(at->time, within);
    }
    return sum_ns;
  }
  int64_t WorkingNs(const Interval& within) const {
    const Interval part{std::max(time.start_ns, within.start_ns), std::min(time.end_ns, within.end_ns)};
    return part.start_ns < part.end_ns ? part.DurationNs() - WaitingNs(part) : 0;
  }
};

struct Work {
  size_t rank = 0;  // index into TurnFinder::ranks_
  Interval time;
};

// What is known of a rank on the path, over all steps.
struct OnPath {
  int64_t path_ns = 0, alone_ns = 0;
  std::vector<int64_t> beside_ns, waiting_ns;  // by rank: works too while it works alone; waits while it works
  std::vector<int64_t> alone_by_step_ns;
};

class TurnFinder {
 public:
  TurnFinder(const std::vector<RankVerdict>& all, const StepMatrix& matrix, const Alignment& alignment)
      : all_(all), alignment_(alignment) {
    if (matrix.IsOverTime() || AreClocksUnknown()) return;
    for (size_t i = 0; i < matrix.own_ns.size(); ++i) {
      if (!matrix.own_ns[i].empty()) ranks_.push_back(i);
    }
    FindNumbers();
  }

  Turns Find() {
    if (ranks_.size() < 2 || !AreAlike()) return {};
    steps_.resize(ranks_.size()), first_.resize(ranks_.size());
    const size_t count = WaitsOf(0).begin_ns.ns.size();
    for (size_t step = 0; step < count; ++step) {
      for (size_t r = 0; r < ranks_.size(); ++r) ReadStep(r, step);
      AddStep(step);
    }
    result_.steps = static_cast<int64_t>(count);
    Group(count);
    AddParts();
    return std::move(result_);
  }

 private:
  const RankSummary& SummaryOf(size_t r) const { return *all_[ranks_[r]].rank; }
  const StepWaits& WaitsOf(size_t r) const { return SummaryOf(r).step_waits; }

  // Times of day of several hosts differ by more than a step takes.
  bool AreClocksUnknown() const { return alignment_.hosts.size() > 1 && alignment_.meetings.empty(); }

  bool AreAlike() const {
    const StepWaits& first = WaitsOf(0);
    for (size_t r = 0; r < ranks_.size(); ++r) {
      const StepWaits& waits = WaitsOf(r);
      if (waits.every != first.every || waits.begin_ns.ns.size() != first.begin_ns.ns.size()) return false;
    }
    return !first.begin_ns.ns.empty();
  }

  // Which rank has a number in a communicator.
  void FindNumbers() {
    for (size_t r = 0; r < ranks_.size(); ++r) {
      if (SummaryOf(r).rank >= 0) numbers_[{kMpiWorldName, SummaryOf(r).rank}] = r;
      for (const WaitPartner& partner : WaitsOf(r).partners) {
        if (partner.own >= 0) numbers_[{partner.communicator, partner.own}] = r;
      }
    }
  }

  void ReadStep(size_t r, size_t step) {
    const StepWaits& waits = WaitsOf(r);
    const int64_t begin_ns = waits.begin_ns.ns[step] + alignment_.shift_ns[ranks_[r]];
    StepOfRank& of = steps_[r];
    of.time = {begin_ns, begin_ns + waits.length_ns[step]};
    of.waits.clear();
    size_t& at = first_[r];
    for (const size_t end = at + static_cast<size_t>(waits.waits[step]); at < end; ++at) {
      const int64_t start_ns = begin_ns + waits.start_ns[at];
      if (of.waits.empty() || of.waits.back().time.start_ns != start_ns) {
        if (!of.waits.empty() && start_ns < of.waits.back().time.end_ns) continue;  // a damaged file
        of.waits.push_back({{start_ns, start_ns + waits.duration_ns[at]}, {}});
      }
      of.waits.back().partners.push_back(static_cast<size_t>(waits.partner[at]));
    }
  }

  void AddStep(size_t step) {
    const std::vector<Work> path = Walk();
    if (path.empty()) return;
    const IntervalSet alone = WhileMostWait();
    for (const Work& work : path) {
      OnPath& on = on_path_[work.rank];
      on.beside_ns.resize(ranks_.size()), on.waiting_ns.resize(ranks_.size());
      on.alone_by_step_ns.resize(step + 1);
      on.path_ns += work.time.DurationNs();
      result_.path_ns += work.time.DurationNs();
      for (size_t q = 0; q < ranks_.size(); ++q) {
        if (q != work.rank) on.waiting_ns[q] += steps_[q].WaitingNs(work.time);
      }
      for (const Interval& interval : alone.intervals()) {
        const Interval part{std::max(interval.start_ns, work.time.start_ns),
                            std::min(interval.end_ns, work.time.end_ns)};
        if (part.start_ns >= part.end_ns) continue;
        on.alone_ns += part.DurationNs(), on.alone_by_step_ns.back() += part.DurationNs();
        for (size_t q = 0; q < ranks_.size(); ++q) on.beside_ns[q] += steps_[q].WorkingNs(part);
      }
    }
    for (size_t i = 1; i < path.size(); ++i) {
      if (path[i].rank != path[i - 1].rank) ++hand_overs_[{path[i].rank, path[i - 1].rank}];
    }
  }

  // From the end of the step to its beginning.
  std::vector<Work> Walk() {
    std::vector<Work> path;
    size_t r = 0, waits = 0;
    for (size_t i = 0; i < steps_.size(); ++i) {
      waits += steps_[i].waits.size();
      if (steps_[i].time.end_ns > steps_[r].time.end_ns) r = i;
    }
    int64_t at_ns = steps_[r].time.end_ns;
    for (size_t left = 2 * waits + 2; left > 0 && at_ns > steps_[r].time.start_ns; --left) {
      const StepWait* const wait = steps_[r].LastBefore(at_ns);
      const int64_t worked_from_ns = wait == nullptr ? steps_[r].time.start_ns : std::min(wait->time.end_ns, at_ns);
      if (worked_from_ns < at_ns) path.push_back({r, {worked_from_ns, at_ns}});
      at_ns = worked_from_ns;
      if (wait == nullptr) break;
      const auto [last, arrived_ns] = LastToCome(r, *wait, at_ns);
      AddCommunication(r, at_ns - arrived_ns);
      r = last, at_ns = arrived_ns;
    }
    return path;
  }

  void AddCommunication(size_t r, int64_t ns) {
    const bool is_nccl = SummaryOf(r).nccl_ns > 0;
    result_.parts_ns[is_nccl ? kPathExposed : kPathIdle + static_cast<size_t>(Cause::kMpi)] += ns;
    result_.communication_ns += ns;
    result_.path_ns += ns;
  }

  // What tells that another rank let one go: a wait of its own for it; or else that it worked until then; or that it
  // began to wait for something else, as it is known to have sent a message before.
  enum class Sign : uint8_t { kMet, kWorked, kSent };

  // Who let the rank go at a time in its wait, and when that one had come: it works until then, or waits from then on.
  std::pair<size_t, int64_t> LastToCome(size_t r, const StepWait& wait, int64_t at_ns) const {
    std::pair<size_t, int64_t> last{r, wait.time.start_ns};
    for (const size_t partner : wait.partners) {
      const WaitPartner& with = WaitsOf(r).partners[partner];
      const auto peer = with.peer < 0 ? numbers_.end() : numbers_.find({with.communicator, with.peer});
      if (peer != numbers_.end()) {
        Consider(peer->second, r, wait, at_ns, Sign::kSent, &last);
        continue;
      }
      for (size_t q = 0; q < ranks_.size(); ++q) Consider(q, r, wait, at_ns, Sign::kMet, &last);
      // Nobody who met the rank came later. Whoever worked may have sent it something; and a call of MPI that does not
      // wait, as that of the last one to come, is not among the waits, whereas a kernel of NCCL takes time in any case.
      const bool may_work = with.communicator.empty() || with.communicator == kMpiWorldName;
      if (!may_work || last.first != r) continue;
      for (size_t q = 0; q < ranks_.size(); ++q) Consider(q, r, wait, at_ns, Sign::kWorked, &last);
    }
    return last;
  }

  // Whether `q` came later than the last one so far.
  void Consider(size_t q, size_t r, const StepWait& wait, int64_t at_ns, Sign sign,
                std::pair<size_t, int64_t>* last) const {
    const Interval& step = steps_[q].time;
    const int64_t until_ns = std::min(at_ns, step.end_ns), soon_ns = step.DurationNs() / 100 * kSoonPercent;
    if (q == r || at_ns <= step.start_ns) return;
    const StepWait* const other = steps_[q].LastBefore(until_ns);
    const bool meets = other != nullptr && other->time.end_ns > wait.time.start_ns &&
                       Meet(q, *other, r, wait, std::abs(other->time.end_ns - wait.time.end_ns) <= soon_ns);
    const bool waits = other != nullptr && other->time.end_ns >= until_ns;
    if (!meets && (sign == Sign::kMet || at_ns - until_ns > soon_ns || (waits && sign != Sign::kSent))) return;
    const int64_t came_ns = meets || waits ? other->time.start_ns : until_ns;
    if (came_ns > last->second) *last = {q, came_ns};
  }

  // Whether waits that overlap are of one operation. Where one of them does not say with whom it is, they end together.
  bool Meet(size_t q, const StepWait& of_q, size_t r, const StepWait& of_r, bool end_together) const {
    for (const size_t i : of_r.partners) {
      const WaitPartner& from_r = WaitsOf(r).partners[i];
      for (const size_t j : of_q.partners) {
        const WaitPartner& from_q = WaitsOf(q).partners[j];
        if (from_r.communicator.empty() || from_q.communicator.empty()) {
          if (end_together) return true;
          continue;
        }
        if (from_q.communicator != from_r.communicator) continue;
        if (from_r.peer < 0 && from_q.peer < 0) return true;
        if (IsNumber(q, from_r) && IsNumber(r, from_q)) return true;
      }
    }
    return false;
  }

  // A root waits for all.
  bool IsNumber(size_t rank, const WaitPartner& of) const {
    const auto at = of.peer < 0 ? numbers_.end() : numbers_.find({of.communicator, of.peer});
    return of.peer < 0 || (at != numbers_.end() && at->second == rank);
  }

  // When at least half of all ranks but one wait.
  IntervalSet WhileMostWait() {
    std::vector<std::pair<int64_t, int>> changes;
    for (const StepOfRank& step : steps_) {
      for (const StepWait& wait : step.waits) {
        changes.emplace_back(wait.time.start_ns, 1), changes.emplace_back(wait.time.end_ns, -1);
      }
    }
    std::ranges::sort(changes);
    const auto enough = static_cast<int64_t>(ranks_.size() / 2);  // half of the others, rounded up
    IntervalSet set;
    int64_t waiting = 0, since_ns = 0;
    for (const auto& [ns, change] : changes) {
      if (waiting >= enough) set.Add(since_ns, ns);
      waiting += change, since_ns = ns;
    }
    return set;
  }

  // Ranks that work at the same time share a turn.
  void Group(size_t steps) {
    std::map<size_t, size_t> turn_of;  // on the path: the first rank of its turn
    for (const auto& [r, on] : on_path_) turn_of[r] = r;
    const auto is_beside = [](const OnPath& on, size_t q) {
      return on.alone_ns > 0 && 100 * on.beside_ns[q] >= kTogetherWorkPercent * on.alone_ns;
    };
    for (const auto& [r, on] : on_path_) {
      for (const auto& [q, other] : on_path_) {
        if (q == r || turn_of[q] == turn_of[r] || !is_beside(on, q)) continue;
        const size_t from = std::max(turn_of[q], turn_of[r]), to = std::min(turn_of[q], turn_of[r]);
        for (auto& [rank, turn] : turn_of) turn = turn == from ? to : turn;
      }
    }
    std::map<size_t, RankTurn> turns;
    std::map<size_t, std::vector<int64_t>> alone_by_step;
    std::vector<size_t> member_of(ranks_.size(), SIZE_MAX);
    for (const auto& [r, on] : on_path_) {
      RankTurn& turn = turns[turn_of[r]];
      member_of[r] = turn_of[r];
      turn.path_ns += on.path_ns, turn.alone_ns += on.alone_ns;
      std::vector<int64_t>& alone = alone_by_step[turn_of[r]];
      alone.resize(steps);
      for (size_t i = 0; i < on.alone_by_step_ns.size(); ++i) alone[i] += on.alone_by_step_ns[i];
      for (size_t q = 0; q < ranks_.size(); ++q) {
        if (member_of[q] == SIZE_MAX && turn_of.count(q) == 0 && is_beside(on, q)) member_of[q] = turn_of[r];
      }
    }
    for (size_t q = 0; q < ranks_.size(); ++q) {
      if (member_of[q] == SIZE_MAX) continue;
      RankTurn& turn = turns[member_of[q]];
      turn.ranks.push_back(ranks_[q]);
      for (const auto& [r, on] : on_path_) {
        if (member_of[q] != turn_of[r]) turn.waiting_ns += on.waiting_ns[q];
      }
    }
    for (auto& [first, turn] : turns) {
      turn.waiting_ns /= static_cast<int64_t>(turn.ranks.size());
      result_.turns.push_back(std::move(turn));
    }
    for (size_t step = 0; step < steps; ++step) {
      int64_t sum_ns = 0, most_ns = 0;
      for (const auto& [first, alone] : alone_by_step) sum_ns += alone[step], most_ns = std::max(most_ns, alone[step]);
      result_.taken_ns += sum_ns - most_ns;
    }
    for (const auto& [ranks, count] : hand_overs_) {
      if (turn_of[ranks.first] != turn_of[ranks.second]) result_.hand_overs += count;
    }
  }

  void AddParts() {
    for (const auto& [r, on] : on_path_) {
      PathParts own{};
      const StepColumns& steps = SummaryOf(r).steps;
      for (size_t entry = 0; entry < steps.wall_ns.size(); ++entry) {
        const PathParts parts = PartsOf(steps, entry);
        for (size_t part = 0; part < kPathPartCount; ++part) own[part] += parts[part];
      }
      own[kPathExposed] = own[kPathIdle + static_cast<size_t>(Cause::kMpi)] = 0;
      const int64_t all_ns = std::accumulate(own.begin(), own.end(), int64_t{0});
      int64_t left_ns = on.path_ns;
      for (size_t part = 0; part < kPathPartCount && all_ns > 0; ++part) {
        const double share = static_cast<double>(own[part]) / static_cast<double>(all_ns);
        const int64_t ns = std::min(left_ns, static_cast<int64_t>(share * static_cast<double>(on.path_ns)));
        result_.parts_ns[part] += ns, left_ns -= ns;
      }
      const size_t most = static_cast<size_t>(std::ranges::max_element(own) - own.begin());
      result_.parts_ns[most] += left_ns;  // what rounding leaves
    }
  }

  const std::vector<RankVerdict>& all_;
  const Alignment& alignment_;
  std::vector<size_t> ranks_;  // with steps: indices into all_; what follows counts by these
  std::map<std::pair<std::string, int64_t>, size_t> numbers_;
  std::vector<StepOfRank> steps_;
  std::vector<size_t> first_;  // the first wait of the next step
  std::map<size_t, OnPath> on_path_;
  std::map<std::pair<size_t, size_t>, int64_t> hand_overs_;  // from one rank to another
  Turns result_;
};

}  // namespace

bool Turns::AreTaken() const { return turns.size() > 1 && 100 * taken_ns >= kTakenPercent * path_ns; }

Turns FindTurns(const std::vector<RankVerdict>& ranks, const StepMatrix& matrix, const Alignment& alignment) {
  return TurnFinder(ranks, matrix, alignment).Find();
}

}  // namespace gprof
