#include "export/stacks/gpu_stacks.h"

#include <map>
#include <optional>
#include <span>
#include <tuple>

#include "analysis/causes/idle_parts.h"
#include "analysis/facts/operations/operations.h"
#include "analysis/result/display_names.h"
#include "analysis/result/idle_causes.h"
#include "gprof/analysis.h"

namespace gprof {
namespace {

struct GpuTime {
  int64_t busy_ns = 0, idle_ns = 0;
};
using GpuTimes = std::map<std::tuple<uint32_t, uint32_t, std::string>, GpuTime>;  // by thread, stack and what it is

void AddWork(const Trace& trace, GpuTimes* sums) {
  for (const GpuOp& op : trace.ops) {
    const uint32_t call = OutermostCall(trace, op.api);
    if (call == kNone) continue;
    const ApiCall& launch = trace.api_calls[call];
    const std::string name = op.kind == OpKind::kKernel ? KernelName(trace, op.name) : OpName(trace, op);
    if (launch.thread != kNone) (*sums)[{launch.thread, launch.stack, name}].busy_ns += op.DurationNs();
  }
}

// What the GPU waited for is the call that ended the wait.
void AddIdle(const AnalysisInput& input, uint32_t device, GpuTimes* sums) {
  const Trace& trace = input.trace();
  ForEachExplainedGap(input, device, [&](const Gap& gap, std::span<const Part> parts) {
    const uint32_t call = gap.after == kNone ? kNone : OutermostCall(trace, trace.ops[gap.after].api);
    const uint32_t thread = call == kNone ? kNone : trace.api_calls[call].thread;
    const uint32_t stack = thread == kNone ? kNone : trace.api_calls[call].stack;
    for (const Part& part : parts) {
      const std::string what = "idle: " + std::string(InfoOf(part.cause).name);
      (*sums)[{thread, stack, what}].idle_ns += part.duration_ns;
    }
  });
}

}  // namespace

std::vector<GpuStack> GpuStacksOf(const Trace& trace) {
  GpuTimes sums;
  AddWork(trace, &sums);
  const AnalysisInput input(trace);
  for (uint32_t device = 0; device < trace.device_ops.size(); ++device) AddIdle(input, device, &sums);
  std::vector<GpuStack> stacks;
  for (const auto& [key, sum] : sums) {
    const auto& [thread, stack, what] = key;
    stacks.push_back({thread, stack, what, sum.busy_ns, sum.idle_ns});
  }
  return stacks;
}

}  // namespace gprof
