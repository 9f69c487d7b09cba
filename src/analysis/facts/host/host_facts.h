// What may have kept the threads of a trace from launching more.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/facts/calls/call_facts.h"
#include "analysis/facts/host/event_waits.h"
#include "analysis/facts/host/thread_waits.h"
#include "analysis/facts/operations/op_facts.h"
#include "analysis/result/idle_causes.h"
#include "gprof/trace.h"

namespace gprof {

// Time that the recording, loaders or compilers took from a thread, whatever it did by itself.
struct Interruption {
  int64_t start_ns = 0, end_ns = 0;
  Cause cause = Cause::kProfiler;
};

// What is the same for every device: computed once for a trace.
struct HostFacts {
  HostFacts(const Trace& trace, const OpFacts& ops, const CallFacts& calls, const StreamOps& stream_ops);
  std::vector<uint8_t> blocking_copies;     // one for each call
  std::vector<uint32_t> calls_after_reset;  // which make a context
  EventWaits event_waits;
  ThreadWaits waits;
  // By thread, and by device when managed memory moved to or from it: in order, none overlap.
  std::vector<std::vector<Interruption>> interruptions;
  std::vector<std::vector<Interval>> migrations;
};

}  // namespace gprof
