// Splits every gap of a device into its causes (docs/metrics.md, idle.*).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/facts/op_facts.h"
#include "analysis/idle/gap_list.h"
#include "analysis/idle/gaps.h"
#include "analysis/idle/host_walk.h"

namespace gprof {

// Walks back from the operation that ended the gap to the call that launched it, and along that call's thread.
class GapExplainer {
 public:
  GapExplainer(const Trace& trace, const HostFacts& facts, const RecordedTime& recorded, const OpFacts& ops);

  // The parts in order of time, valid until the next call; they sum to the gap. Gaps of one device, in order.
  const std::vector<Part>& Explain(const Gap& gap);
  // Operations in the order of the trace, a bit for each from `first` on: those whose stream was told to wait for an
  // event, each after the gap that it ended.
  void See(uint32_t first, uint64_t waits);

 private:
  // What counts of the operation that ended a gap, and of its launching call.
  struct Launch {
    int64_t start_ns, end_ns;
    uint32_t call, thread, process;
    uint32_t stream;  // of the operation
    bool is_pageable;
  };

  void ExplainByCall(const Gap& gap, const Launch& launch);
  void AddQueued(const Gap& gap, uint32_t call, Cause cause);
  void AddHost(const Launch& launch, uint32_t device, int64_t from_ns, int64_t to_ns);
  void TakeMigrations(uint32_t device, size_t first, int64_t from_ns);
  UnknownReason WhyUnknown(const Gap& gap) const;
  bool WaitsForEvent(const Gap& gap, const Launch& launch);
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
    size_t waits;               // that came before the launch looked at last
  };
  std::vector<Seen> seen_;  // of each stream that waits for events
};

}  // namespace gprof
