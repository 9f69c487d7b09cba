// Splits every gap of a device into its causes (docs/metrics.md, idle.*).
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/gaps.h"
#include "analysis/host_walk.h"
#include "analysis/op_facts.h"

namespace gprof {

// Walks back from the operation that ended the gap to the call that launched it, and along that call's thread.
class GapExplainer {
 public:
  GapExplainer(const Trace& trace, const HostFacts& facts, const RecordedTime& recorded, const OpFacts& ops);

  // The parts in order of time, valid until the next call; they sum to the gap. Gaps of one device, in order.
  const std::vector<Part>& Explain(const Gap& gap);
  // Operations in the order of the trace, each after the gap that it ended.
  void See(uint32_t op);

 private:
  void ExplainByCall(const Gap& gap, const GpuOp& op, const ApiCall& call, uint32_t call_index);
  void AddQueued(const Gap& gap, uint32_t call, Cause cause);
  void AddHost(const ApiCall& call, int64_t from_ns, int64_t to_ns);
  UnknownReason WhyUnknown(const Gap& gap) const;
  bool WaitsForEvent(const Gap& gap, const GpuOp& op, const ApiCall& call) const;
  bool IsHeldUp(const Gap& gap, const GpuOp& op, const EventWait& wait) const;

  const Trace& trace_;
  const HostFacts& facts_;
  const RecordedTime& recorded_;
  const OpFacts& ops_;
  HostWalk walk_;
  std::vector<Part> parts_;
  std::vector<uint8_t> process_has_calls_;
  struct Seen {
    int64_t launch_ns, end_ns;  // of the last operation launched, and of the last to end
  };
  std::vector<Seen> seen_;      // of each stream
};

}  // namespace gprof
