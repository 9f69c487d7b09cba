#include "analysis/facts/operations/kernel_launches.h"

#include <limits>
#include <utility>

#include "analysis/facts/operations/operations.h"

namespace gprof {
namespace {

struct First {
  int64_t start_ns = std::numeric_limits<int64_t>::max();
  uint32_t call = kNone;
  void See(int64_t call_start_ns, uint32_t index) {
    if (call_start_ns < start_ns) start_ns = call_start_ns, call = index;
  }
};

class Collector {
 public:
  KernelSamples calls, queued, times;
  std::vector<First> firsts;  // by process and group, the last one is of no process

  Collector(const Trace& trace, const OpFacts& ops, const KernelGroups& kernels)
      : calls(kernels),
        queued(kernels),
        times(kernels),
        firsts(trace.processes.size() * kernels.size() + 1),
        trace_(trace),
        ops_(ops),
        groups_(kernels.of_traits().data()),
        counted_(trace.api_calls.size(), false) {
    for (uint32_t i = 0; i < trace.ops.TraitsCount(); ++i) {
      const uint32_t process = trace.ops.TraitsAt(i).process, group = groups_[i];
      const bool has_place = process != kNone && group != kNone;
      first_of_traits_.push_back(has_place ? &firsts[process * kernels.size() + group] : &firsts.back());
    }
  }

  void Run() {
    for (const Operation op : OperationsOf(trace_)) {
      const uint32_t group = groups_[op.kind_number()];
      if (group != kNone) Add(op, group);
    }
  }

 private:
  void Add(const Operation& op, uint32_t group) {
    times.Add(group, op.duration_ns());
    const uint32_t index = ops_.CallOf(op);
    if (index == kNone) return;
    const ApiCall& call = trace_.api_calls[index];
    if (op.start_ns() > call.end_ns) queued.Add(group, op.start_ns() - call.end_ns);
    if (counted_[index]) return;
    counted_[index] = true;
    if (call.end_ns >= call.start_ns) calls.Add(group, call.DurationNs());
    first_of_traits_[op.kind_number()]->See(call.start_ns, index);
  }

  const Trace& trace_;
  const OpFacts& ops_;
  const uint32_t* groups_;
  std::vector<First*> first_of_traits_;
  std::vector<bool> counted_;  // calls
};

}  // namespace

KernelLaunches::KernelLaunches(const Trace& trace, const OpFacts& ops, const KernelGroups& kernels, Spread spread)
    : groups_(kernels.size()) {
  Collector collector(trace, ops, kernels);
  collector.Run();
  for (size_t i = 0; i + 1 < collector.firsts.size(); ++i) first_calls_.push_back(collector.firsts[i].call);
  for (uint32_t group = 0; group < kernels.size(); ++group) {
    calls_.push_back(collector.calls.Of(group).Summary(spread));
    queued_.push_back(collector.queued.Of(group).Summary(spread));
    times_.push_back(collector.times.Of(group).Summary(spread == Spread::kNotAsked ? Spread::kAsked : spread));
  }
}

}  // namespace gprof
