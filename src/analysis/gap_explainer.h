// Splits every gap of a device into its causes (docs/metrics.md, idle.*).
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/gaps.h"
#include "analysis/host_walk.h"
#include "analysis/op_facts.h"

namespace gprof {

enum class PlainGap : uint8_t { kNot, kQueue, kLaunch };

// Walks back from the operation that ended the gap to the call that launched it, and along that call's thread.
class GapExplainer {
 public:
  GapExplainer(const Trace& trace, const HostFacts& facts, const RecordedTime& recorded, const OpFacts& ops);

  // Whether a gap of that length before the operation has one part, with the call that launched the operation, and is
  // `queue` or `launch`: nearly all are, so that this is asked first. Gaps of one device, in order.
  PlainGap PlainBefore(uint32_t device, uint32_t op, int64_t gap_ns) {
    trace_.ops.PrefetchAfter(op);
    const uint32_t call = ops_.CallOf(op);
    if (call == kNone) return PlainGap::kNot;
    trace_.api_calls.PrefetchAfter(call);
    const HostFacts::OfOp of_op = facts_.of_ops[trace_.ops.FactsIndex(op)];
    const HostFacts::OfCall& of_call = facts_.of_calls[trace_.api_calls.FactsIndex(call)];
    const int64_t end_ns = trace_.ops[op].start_ns, start_ns = end_ns - gap_ns;
    if (of_call.thread == kNone) return PlainGap::kNot;
    if (trace_.api_calls[call].end_ns <= start_ns) {
      return of_op.may_wait || !facts_.migrations[device].empty() ? PlainGap::kNot : PlainGap::kQueue;
    }
    const bool is_host_first = trace_.api_calls[call].start_ns > start_ns || of_call.process_start_ns > start_ns;
    if (is_host_first || of_op.is_pageable) return PlainGap::kNot;
    return walk_.IsInterrupted(of_call.thread, start_ns, end_ns) ? PlainGap::kNot : PlainGap::kLaunch;
  }
  // The parts in order of time, valid until the next call; they sum to the gap. Gaps of one device, in order.
  const std::vector<Part>& Explain(const Gap& gap);
  // Operations in the order of the trace, each after the gap that it ended.
  void See(uint32_t op) {
    if (facts_.of_ops[trace_.ops.FactsIndex(op)].may_wait) SeeWaiting(op);
  }

 private:
  // What counts of the operation that ended a gap, and of its launching call.
  struct Launch {
    int64_t start_ns, end_ns;
    uint32_t call, thread, process;
    uint32_t stream;       // of the operation
    bool is_pageable;
  };

  void ExplainByCall(const Gap& gap, const Launch& launch);
  void AddQueued(const Gap& gap, uint32_t call, Cause cause);
  void AddHost(const Launch& launch, int64_t from_ns, int64_t to_ns);
  UnknownReason WhyUnknown(const Gap& gap) const;
  void SeeWaiting(uint32_t op);
  bool WaitsForEvent(const Gap& gap, const Launch& launch) const;
  bool IsHeldUp(const Gap& gap, uint32_t stream, const EventWait& wait) const;

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
  std::vector<Seen> seen_;      // of each stream that waits for events
};

}  // namespace gprof
