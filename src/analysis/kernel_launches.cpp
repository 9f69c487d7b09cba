#include "analysis/kernel_launches.h"

#include <limits>
#include <utility>

namespace gprof {

KernelLaunches::KernelLaunches(const Trace& trace, const OpFacts& ops, const KernelGroups& kernels)
    : groups_(kernels.size()) {
  KernelSamples calls(kernels), queued(kernels);
  // A type of its own, so that writing one leaves compilers what they know of all else.
  enum class Counted : uint8_t { kNo, kYes };
  std::vector<Counted> counted(trace.api_calls.size(), Counted::kNo);
  struct First {
    int64_t start_ns = std::numeric_limits<int64_t>::max();
    uint32_t call = kNone;
  };
  std::vector<First> firsts(trace.processes.size() * groups_);
  const uint32_t* const groups = kernels.of_facts().data();
  const PackedCalls::Item* const items = trace.api_calls.items().data();
  uint32_t i = 0;
  for (const PackedOps::Item& op : trace.ops.items()) {
    PrefetchForReading(&op);
    const uint32_t call = ops.CallOf(i++), group = groups[op.facts];
    if (group == kNone || call == kNone) continue;
    const PackedCalls::Item& item = items[call];
    PrefetchForReading(&item);
    const int64_t start_ns = op.start_ns(), call_start_ns = item.start_ns(), call_end_ns = trace.api_calls.EndNs(item);
    if (start_ns > call_end_ns) queued.Add(group, start_ns - call_end_ns);
    if (std::exchange(counted[call], Counted::kYes) == Counted::kYes) continue;
    if (call_end_ns >= call_start_ns) calls.Add(group, call_end_ns - call_start_ns);
    const uint32_t process = trace.ops.FactsOf(op).process;
    if (process == kNone) continue;
    First& first = firsts[process * groups_ + group];
    if (call_start_ns < first.start_ns) first = {call_start_ns, call};
  }
  for (const First& first : firsts) first_calls_.push_back(first.call);
  for (uint32_t group = 0; group < kernels.size(); ++group) {
    calls_.push_back(calls.Of(group).Summary());
    queued_.push_back(queued.Of(group).Summary());
  }
}

}  // namespace gprof
