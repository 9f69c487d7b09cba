#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "analysis/facts/operations/operations.h"
#include "analysis/facts/shared_facts.h"
#include "analysis/facts/steps/step_windows.h"
#include "analysis/topics/host/mpi_arrivals.h"
#include "fleet/summarize/rank_parts.h"

namespace gprof {
namespace {

class CommunicatorFinder {
 public:
  CommunicatorFinder(const AnalysisInput& input, const NcclOfRank& nccl, uint32_t pid, const HostTime* host)
      : input_(input), trace_(input.trace()), nccl_(nccl), pid_(pid), host_(host) {}

  std::vector<Communicator> Find() {
    MpiCollectives();
    NcclCollectives();
    RangeCollectives();
    NumberBySteps();
    KeepCollectives();
    return std::move(all_);
  }

 private:
  bool IsOfRank(uint32_t process) const { return process != kNone && trace_.processes[process].pid == pid_; }

  void MpiCollectives() {
    Communicator world;
    world.name = kMpiWorldName;
    std::set<std::string> functions;
    for (const MpiCall& call : trace_.mpi_calls) {
      if (!IsOfRank(call.process) || call.communicator != kMpiWorld || call.is_unfinished || call.error != 0) continue;
      if (!WaitsForAll(trace_.Text(call.function))) continue;
      functions.insert(KeptName(trace_.Text(call.function)));
      Add(call.start_ns, call.end_ns, &world);
    }
    world.functions.assign(functions.begin(), functions.end());
    if (world.count > 0) all_.push_back(std::move(world));
  }

  // Of a rank without GPU work, where libraries name their collectives by ranges.
  void RangeCollectives() {
    if (host_ == nullptr || !host_->is_known() || !all_.empty()) return;
    std::map<std::string, Communicator> communicators;
    const Trace::Slice slice = trace_.thread_ranges[host_->thread()];
    for (uint32_t i = slice.first; i < slice.last; ++i) {
      const NvtxRange& range = trace_.ranges[i];
      const std::string_view name = trace_.Text(range.name);
      if (!IsCollectiveRange(name)) continue;
      Communicator& communicator = communicators[KeptName(name.substr(0, name.find_first_of(":_")))];
      const bool is_within = communicator.count > 0 &&
                             range.start_ns < communicator.arrival_ns.ns.back() + communicator.duration_ns.back();
      if (!is_within) Add(range.start_ns, range.end_ns, &communicator);
    }
    for (auto& [name, communicator] : communicators) {
      communicator.name = name;
      all_.push_back(std::move(communicator));
    }
  }

  // Where ranks were recorded from within a run, the first collective of one is not that of another; the number of its
  // step tells. As many collectives belong to each step.
  void NumberBySteps() {
    const std::optional<StepChoice>& step = input_.shared().step();
    if (!step || step->ranges.empty()) return;
    const NvtxRange first = trace_.ranges[step->ranges.front()];
    const int64_t number = NumberOfStep(trace_.Text(first.name)).value_or(0);
    const auto steps = static_cast<int64_t>(step->ranges.size());
    constexpr int64_t kMost = int64_t{1} << 40;
    if (number <= 0 || number > kMost) return;
    for (Communicator& communicator : all_) {
      if (communicator.count % steps != 0) continue;
      for (int64_t& each : communicator.numbers) each += number * (communicator.count / steps);
    }
  }

  static void Add(int64_t start_ns, int64_t end_ns, Communicator* to) {
    to->numbers.push_back(to->count++);
    to->arrival_ns.ns.push_back(start_ns);
    to->duration_ns.push_back(std::max<int64_t>(end_ns - start_ns, 0));
  }

  // Where nothing names communicators, all collectives may be of one; the verdict looks whether that fits.
  void NcclCollectives() {
    if (!nccl_.kernels.HasAny()) return;
    struct Call {
      Interval kernels;
      int64_t called_ns = 0;
    };
    std::map<std::string, std::vector<Call>> calls;
    std::map<std::string, std::set<std::string>> functions;
    for (const NcclMessage& message : nccl_.messages.all()) {
      if (message.communicator.empty() || !message.kernels) continue;
      const std::string name = NcclName(message.communicator);
      functions[name].insert(KeptName(message.function));
      std::vector<Call>& of_communicator = calls[name];  // sends and receives are half of a pair: they are none
      if (!message.IsPeerToPeer()) of_communicator.push_back({*message.kernels, message.called_ns});
    }
    if (calls.empty()) {
      for (const Operation op : OperationsOf(trace_)) {
        if (!nccl_.kernels.Has(op.shared()) || trace_.Text(op.shared().name).find("SendRecv") != std::string_view::npos)
          continue;
        calls["NCCL"].push_back({{op.start_ns(), op.end_ns()}});
      }
    }
    for (auto& [name, of_communicator] : calls) {
      std::ranges::stable_sort(of_communicator,
                               [](const Call& a, const Call& b) { return a.kernels.start_ns < b.kernels.start_ns; });
      Communicator communicator;
      communicator.name = name;
      communicator.functions.assign(functions[name].begin(), functions[name].end());
      for (const Call& call : of_communicator) {
        Add(call.kernels.start_ns, call.kernels.end_ns, &communicator);
        if (nccl_.messages.AreRecords()) communicator.called_ns.ns.push_back(call.called_ns);
      }
      all_.push_back(std::move(communicator));
    }
  }

  // All ranks of a communicator keep the same ones: each 2^n-th.
  void KeepCollectives() {
    auto& all = all_;
    std::ranges::stable_sort(all, std::greater(), [](const auto& x) { return x.count; });
    if (all.size() > kKeptCommunicators) all.resize(kKeptCommunicators);
    for (Communicator& c : all) {
      while (c.count / c.every > static_cast<int64_t>(kKeptCollectives / all.size())) c.every *= 2;
      size_t kept = 0;
      for (size_t i = 0; i < c.numbers.size(); ++i) {
        if (c.numbers[i] % c.every != 0 && i + 1 != c.numbers.size()) continue;
        c.numbers[kept] = c.numbers[i];
        c.arrival_ns.ns[kept] = c.arrival_ns.ns[i];
        if (!c.called_ns.ns.empty()) c.called_ns.ns[kept] = c.called_ns.ns[i];
        c.duration_ns[kept++] = c.duration_ns[i];
      }
      c.numbers.resize(kept), c.arrival_ns.ns.resize(kept), c.duration_ns.resize(kept);
      if (!c.called_ns.ns.empty()) c.called_ns.ns.resize(kept);
    }
    std::ranges::sort(all, {}, [](const auto& x) { return x.name; });
  }

  const AnalysisInput& input_;
  const Trace& trace_;
  const NcclOfRank& nccl_;
  const uint32_t pid_;
  const HostTime* const host_;
  std::vector<Communicator> all_;
};

}  // namespace

std::vector<Communicator> CommunicatorsOf(const AnalysisInput& input, const NcclOfRank& nccl, uint32_t pid,
                                          const HostTime* host) {
  return CommunicatorFinder(input, nccl, pid, host).Find();
}

}  // namespace gprof
