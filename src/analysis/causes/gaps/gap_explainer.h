// Splits every gap of a device into its causes (docs/metrics.md, idle.*).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/causes/gaps/host_walk.h"
#include "analysis/facts/gaps/gap_list.h"
#include "analysis/facts/gaps/gaps.h"
#include "analysis/facts/host/host_facts.h"
#include "analysis/facts/operations/op_facts.h"

namespace gprof {

// Walks back from the operation that ended the gap to the call that launched it, and along that call's thread.
class GapExplainer {
 public:
  GapExplainer(const Trace& trace, const HostFacts& facts, const RecordedTime& recorded, const OpFacts& ops);

  // Appends the parts in order of time; they sum to the gap. Gaps of one device, in order.
  void Explain(const Gap& gap, std::vector<Part>* parts);
  // Every operation in the order of the trace, each after the gap that it ended.
  void See(uint32_t op) {
    if (has_waits_) SeeInStream(op);
  }

 private:
  // What counts of the operation that ended a gap, and of its launching call.
  struct Launch {
    int64_t start_ns, end_ns;
    uint32_t call, thread, process;
    uint32_t stream;  // of the operation
    bool is_pageable;
  };

  void SeeInStream(uint32_t op);
  Launch LaunchOf(const Operation& op) const;
  Launch LaunchBeyond(uint32_t device) const;
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
  bool has_waits_;                      // for events
  std::vector<uint8_t> is_pageable_;    // by kind of operation
  std::vector<Part>* parts_ = nullptr;  // of those explained so far
  std::vector<uint8_t> process_has_calls_;
  struct Seen {
    int64_t launch_ns, end_ns;  // of the last operation launched, and of the last to end
    size_t waits;               // that came before the launch looked at last
  };
  std::vector<Seen> seen_;  // by stream
};

}  // namespace gprof
