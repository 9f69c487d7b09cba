#include "analysis/topics/copies/copy_calls.h"

#include <algorithm>

#include "analysis/facts/gaps/gaps.h"
#include "analysis/facts/operations/operations.h"
#include "analysis/facts/shared_facts.h"

namespace gprof {

CopyCalls::CopyCalls(const AnalysisInput& input) : input_(input), idle_(input.trace().device_ops.size()) {}

CopyCallTime CopyCalls::TimeOf(const GpuOp& copy) {
  const Trace& trace = input_.trace();
  const uint32_t index = OutermostCall(trace, copy.api);
  if (index == kNone) return {};
  const ApiCall call = trace.api_calls[index];
  CopyCallTime time{call.DurationNs(), 0, 0};
  if (copy.device == kNone || !HasWindow(trace, copy.device)) return time;
  // Before its first operation the device had nothing to do that could be waited for.
  const int64_t first_ns = trace.ops[trace.device_ops[copy.device].first].start_ns;
  const int64_t from_ns = std::max(call.start_ns, first_ns), to_ns = std::min(call.end_ns, copy.start_ns);
  if (to_ns <= from_ns) return time;
  std::optional<IdleWithin>& idle = idle_[copy.device];
  if (!idle) idle.emplace(trace, input_.shared().gaps(copy.device));
  time.staging_ns = std::min(idle->IdleNs(from_ns, to_ns), to_ns - from_ns);
  time.waiting_ns = to_ns - from_ns - time.staging_ns;
  return time;
}

}  // namespace gprof
