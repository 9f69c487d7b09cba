#include "analysis/kernel_launches.h"

#include <limits>
#include <utility>

namespace gprof {

KernelLaunches::KernelLaunches(const Trace& trace, const OpFacts& ops, const KernelGroups& kernels)
    : groups_(kernels.size()), first_calls_(trace.processes.size() * groups_, kNone) {
  KernelSamples calls(kernels), queued(kernels);
  std::vector<uint8_t> is_counted(trace.api_calls.size(), 0);
  std::vector<int64_t> first_starts_ns(first_calls_.size(), std::numeric_limits<int64_t>::max());
  for (uint32_t i = 0; i < trace.ops.size(); ++i) {
    trace.ops.PrefetchAfter(i);
    const uint32_t call = ops.CallOf(i), group = kernels.of_facts()[trace.ops.FactsIndex(i)];
    if (group == kNone || call == kNone) continue;
    trace.api_calls.PrefetchAfter(call);
    const GpuOp& op = trace.ops[i];
    const int64_t call_start_ns = ops.LaunchNs(i), call_end_ns = trace.api_calls[call].end_ns;
    if (op.start_ns > call_end_ns) queued.Add(group, op.start_ns - call_end_ns);
    if (std::exchange(is_counted[call], uint8_t{1}) != 0) continue;
    if (call_end_ns >= call_start_ns) calls.Add(group, call_end_ns - call_start_ns);
    if (op.process == kNone) continue;
    const size_t at = op.process * groups_ + group;
    if (first_calls_[at] != kNone && call_start_ns >= first_starts_ns[at]) continue;
    first_calls_[at] = call;
    first_starts_ns[at] = call_start_ns;
  }
  for (uint32_t i = 0; i < kernels.size(); ++i) {
    calls_.push_back(calls.Of(i).Summary());
    queued_.push_back(queued.Of(i).Summary());
  }
}

}  // namespace gprof
