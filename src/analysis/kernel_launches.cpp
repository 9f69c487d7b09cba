#include "analysis/kernel_launches.h"

#include <limits>
#include <utility>

namespace gprof {

KernelLaunches::KernelLaunches(const Trace& trace, const OpFacts& ops, const KernelGroups& kernels)
    : groups_(kernels.size()) {
  KernelSamples calls(kernels), queued(kernels);
  // A type of its own, so that writing one leaves compilers what they know of all else.
  enum class Counted : uint8_t { kNo, kYes };
  std::vector<Counted> counted;  // calls that launch more than one operation
  struct First {
    int64_t start_ns = std::numeric_limits<int64_t>::max();
    uint32_t call = kNone;
  };
  std::vector<First> firsts(trace.processes.size() * groups_ + 1);  // the last one is of no process
  std::vector<First*> first_of_facts;
  for (uint32_t i = 0; i < trace.ops.FactsCount(); ++i) {
    const uint32_t process = trace.ops.FactsAt(i).process, group = kernels.of_facts()[i];
    const size_t place = process == kNone || group == kNone ? firsts.size() - 1 : process * groups_ + group;
    first_of_facts.push_back(&firsts[place]);
  }
  const uint32_t* const groups = kernels.of_facts().data();
  First* const* const first_of = first_of_facts.data();
  const PackedCalls::Item* const items = trace.api_calls.items().data();
  uint32_t i = 0;
  for (const PackedOps::Item& op : trace.ops.items()) {
    PrefetchForReading(&op);
    const uint32_t call = ops.CallOf(i++, op), group = groups[op.facts];
    if (group == kNone || call == kNone) continue;
    const PackedCalls::Item& item = items[call];
    PrefetchForReading(&item);
    const int64_t call_start_ns = item.start_ns(), call_end_ns = trace.api_calls.EndNs(item);
    if (op.start_ns() > call_end_ns) queued.Add(group, op.start_ns() - call_end_ns);
    // One that launched this operation alone and was made by no other call does not come again.
    if (item.op_count != 1 || item.MayHaveParent() || ops.HasInnerCalls()) {
      if (counted.empty()) counted.resize(trace.api_calls.size(), Counted::kNo);
      if (std::exchange(counted[call], Counted::kYes) == Counted::kYes) continue;
    }
    if (call_end_ns >= call_start_ns) calls.AddDuration(group, trace.api_calls, item);
    First& first = *first_of[op.facts];
    if (call_start_ns < first.start_ns) first = {call_start_ns, call};
  }
  for (size_t place = 0; place + 1 < firsts.size(); ++place) first_calls_.push_back(firsts[place].call);
  for (uint32_t group = 0; group < kernels.size(); ++group) {
    calls_.push_back(calls.Of(group).Summary(Spread::kNotAsked));
    queued_.push_back(queued.Of(group).Summary(Spread::kNotAsked));
  }
}

}  // namespace gprof
