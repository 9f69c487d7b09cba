#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "analysis/causes/idle_parts.h"
#include "analysis/facts/operations/operations.h"
#include "analysis/topics/host/mpi_arrivals.h"
#include "fleet/summarize/rank_parts.h"

namespace gprof {
namespace {

constexpr std::string_view kRooted[] = {"MPI_Bcast",   "MPI_Reduce",  "MPI_Gather",
                                        "MPI_Gatherv", "MPI_Scatter", "MPI_Scatterv"};

struct Wait {
  Interval time;
  std::vector<size_t> partners;  // indices; an operation may wait for several, as a group of NCCL does
};

class WaitFinder {
 public:
  WaitFinder(const AnalysisInput& input, const NcclOfRank& nccl, uint32_t pid, const StepTimes& steps)
      : input_(input), trace_(input.trace()), nccl_(nccl), pid_(pid), steps_(steps) {}

  StepWaits Find(const IntervalSet& others) {
    FindNccl(others);
    FindMpi();
    std::ranges::stable_sort(waits_, [](const Wait& a, const Wait& b) { return a.time.start_ns < b.time.start_ns; });
    Keep();
    return std::move(result_);
  }

 private:
  size_t Partner(const std::string& communicator, int64_t own, int64_t peer) {
    const auto [at, is_new] = numbers_.try_emplace({communicator, own, peer}, partners_.size());
    if (is_new) partners_.push_back({communicator, own, peer}), kept_.push_back(-1);
    return at->second;
  }

  // Its number in the result, which has only partners of waits that are kept.
  int64_t Kept(size_t partner) {
    if (kept_[partner] < 0) {
      kept_[partner] = static_cast<int64_t>(result_.partners.size());
      result_.partners.push_back(partners_[partner]);
    }
    return kept_[partner];
  }

  void FindNccl(const IntervalSet& others) {
    if (!nccl_.kernels.HasAny() || steps_.device == kNone) return;
    std::map<int64_t, std::vector<size_t>> partners;  // by start of the kernel
    for (const NcclMessage& message : nccl_.messages.all()) {
      if (!message.kernels || message.device != steps_.device || message.communicator.empty()) continue;
      const bool is_known = message.record != nullptr;
      const int64_t peer = message.IsPeerToPeer() && is_known ? message.record->peer : -1;
      if (message.IsPeerToPeer() && peer < 0) continue;
      partners[message.kernels->start_ns].push_back(
          Partner(NcclName(message.communicator), is_known ? message.record->rank : -1, peer));
    }
    size_t next = 0;
    for (const Operation op : OperationsOf(trace_, trace_.device_ops[steps_.device])) {
      if (!nccl_.kernels.Has(op.shared())) continue;
      const auto known = partners.find(op.start_ns());
      AddUncovered({op.start_ns(), op.end_ns()}, others.intervals(), &next,
                   known == partners.end() ? std::vector<size_t>{Partner("", -1, -1)} : known->second);
    }
  }

  // What of it no interval of the set covers. Times come in order of their start.
  void AddUncovered(Interval time, const std::vector<Interval>& set, size_t* next,
                    const std::vector<size_t>& partners) {
    while (*next < set.size() && set[*next].end_ns <= time.start_ns) ++*next;
    for (size_t i = *next; i < set.size() && set[i].start_ns < time.end_ns; ++i) {
      if (time.start_ns < set[i].start_ns) waits_.push_back({{time.start_ns, set[i].start_ns}, partners});
      time.start_ns = std::max(time.start_ns, set[i].end_ns);
    }
    if (time.start_ns < time.end_ns) waits_.push_back({time, partners});
  }

  void FindMpi() {
    if (trace_.mpi_calls.empty()) return;
    std::vector<const MpiCall*> calls;
    for (const MpiCall& call : trace_.mpi_calls) {
      if (call.process != kNone && trace_.processes[call.process].pid == pid_) calls.push_back(&call);
    }
    std::ranges::stable_sort(calls, [](const MpiCall* a, const MpiCall* b) { return a->start_ns < b->start_ns; });
    if (steps_.device == kNone) {  // a rank without GPU work
      for (const MpiCall* call : calls) waits_.push_back({{call->start_ns, call->end_ns}, {PartnerOf(*call)}});
      return;
    }
    size_t next = 0;
    ForEachIdlePart(input_, steps_.device, [&](int64_t start_ns, int64_t end_ns, const Part& part) {
      if (part.cause != Cause::kMpi) return;
      while (next < calls.size() && calls[next]->end_ns <= start_ns) ++next;
      for (size_t i = next; i < calls.size() && calls[i]->start_ns < end_ns; ++i) {
        const Interval time{std::max(start_ns, calls[i]->start_ns), std::min(end_ns, calls[i]->end_ns)};
        if (time.start_ns < time.end_ns) waits_.push_back({time, {PartnerOf(*calls[i])}});
      }
    });
  }

  // Communicators but the world have other numbers in other processes.
  size_t PartnerOf(const MpiCall& call) {
    const std::string_view function = WithoutLargeCount(trace_.Text(call.function));
    const int64_t own = call.process == kNone ? -1 : trace_.processes[call.process].rank;
    const bool is_rooted = std::ranges::find(kRooted, function) != std::end(kRooted);
    if (call.communicator != kMpiWorld) return Partner("", -1, -1);
    if (WaitsForAll(function) || (is_rooted && call.peer == own)) return Partner(kMpiWorldName, own, -1);
    return call.peer < 0 ? Partner("", -1, -1) : Partner(kMpiWorldName, own, call.peer);
  }

  void Keep() {
    const auto count = static_cast<int64_t>(steps_.iterations.size());
    while (count / result_.every > static_cast<int64_t>(kKeptWaitSteps)) result_.every *= 2;
    size_t next = 0;
    for (int64_t i = result_.every - 1; i < count; i += result_.every) {
      const Iteration& step = steps_.iterations[static_cast<size_t>(i)];
      result_.begin_ns.ns.push_back(step.start_ns);
      result_.length_ns.push_back(step.duration_ns);
      std::vector<Wait> within;
      int64_t covered_ns = INT64_MIN;  // operations of several streams may wait at the same time
      while (next < waits_.size() && waits_[next].time.end_ns <= step.start_ns) ++next;
      for (size_t w = next; w < waits_.size() && waits_[w].time.start_ns < step.EndNs(); ++w) {
        const Interval& time = waits_[w].time;
        const Interval part{std::max({time.start_ns, step.start_ns, covered_ns}), std::min(time.end_ns, step.EndNs())};
        if (part.start_ns >= part.end_ns) continue;
        within.push_back({part, waits_[w].partners});
        covered_ns = part.end_ns;
      }
      KeepLongest(&within, step.start_ns);
    }
  }

  void KeepLongest(std::vector<Wait>* waits, int64_t begin_ns) {
    if (waits->size() > kKeptWaits) {
      std::ranges::stable_sort(*waits,
                               [](const Wait& a, const Wait& b) { return a.time.DurationNs() > b.time.DurationNs(); });
      waits->resize(kKeptWaits);
      std::ranges::sort(*waits, [](const Wait& a, const Wait& b) { return a.time.start_ns < b.time.start_ns; });
    }
    int64_t kept = 0;
    for (const Wait& wait : *waits) {
      for (size_t i = 0; i < std::min(wait.partners.size(), kKeptPartners); ++i, ++kept) {
        result_.start_ns.push_back(wait.time.start_ns - begin_ns);
        result_.duration_ns.push_back(wait.time.DurationNs());
        result_.partner.push_back(Kept(wait.partners[i]));
      }
    }
    result_.waits.push_back(kept);
  }

  const AnalysisInput& input_;
  const Trace& trace_;
  const NcclOfRank& nccl_;
  const uint32_t pid_;
  const StepTimes& steps_;
  std::vector<Wait> waits_;
  std::vector<WaitPartner> partners_;
  std::map<std::tuple<std::string, int64_t, int64_t>, size_t> numbers_;  // of partners
  std::vector<int64_t> kept_;                                            // by partner; -1: not yet
  StepWaits result_;
};

}  // namespace

StepWaits StepWaitsOf(const AnalysisInput& input, const NcclOfRank& nccl, uint32_t pid, const IntervalSet& others,
                      const StepTimes& steps) {
  return WaitFinder(input, nccl, pid, steps).Find(others);
}

}  // namespace gprof
