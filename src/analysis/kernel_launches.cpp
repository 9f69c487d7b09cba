#include "analysis/kernel_launches.h"

#include <limits>
#include <utility>

namespace gprof {

KernelLaunches::KernelLaunches(const Trace& trace, const OpFacts& ops, const KernelGroups& kernels)
    : groups_(kernels.size()) {
  KernelSamples calls(kernels), queued(kernels);
  std::vector<uint8_t> is_counted(trace.api_calls.size(), 0);
  struct First {
    int64_t start_ns = std::numeric_limits<int64_t>::max();
    uint32_t call = kNone;
  };
  std::vector<First> firsts(trace.processes.size() * groups_);
  for (uint32_t i = 0; i < trace.ops.size(); ++i) {
    const PackedOps::Item& op = trace.ops.items()[i];
    PrefetchForReading(&op);
    const uint32_t call = ops.CallOf(i), group = kernels.of_facts()[op.facts];
    if (group == kNone || call == kNone) continue;
    const PackedCalls::Item& item = trace.api_calls.items()[call];
    PrefetchForReading(&item);
    const int64_t start_ns = op.start_ns(), call_start_ns = item.start_ns(), call_end_ns = trace.api_calls.EndNs(item);
    if (start_ns > call_end_ns) queued.Add(group, start_ns - call_end_ns);
    if (std::exchange(is_counted[call], uint8_t{1}) != 0) continue;
    if (call_end_ns >= call_start_ns) calls.Add(group, call_end_ns - call_start_ns);
    const uint32_t process = trace.ops.FactsOf(op).process;
    if (process == kNone) continue;
    First& first = firsts[process * groups_ + group];
    if (call_start_ns < first.start_ns) first = {call_start_ns, call};
  }
  for (const First& first : firsts) first_calls_.push_back(first.call);
  for (uint32_t i = 0; i < kernels.size(); ++i) {
    calls_.push_back(calls.Of(i).Summary());
    queued_.push_back(queued.Of(i).Summary());
  }
}

}  // namespace gprof
