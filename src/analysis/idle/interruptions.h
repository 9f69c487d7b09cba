// What may hold up threads, streams and devices, as far as that is known before operations and calls are gone over.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/idle/causes.h"
#include "gprof/trace.h"

namespace gprof {

// Time that the recording, loaders or compilers took from a thread, whatever it did by itself.
struct Interruption {
  int64_t start_ns = 0, end_ns = 0;
  Cause cause = Cause::kProfiler;
};

struct Holdups {
  explicit Holdups(const Trace& trace);
  std::vector<std::vector<Interruption>> interruptions;  // one list for each thread: in order, none overlap
  std::vector<std::vector<Interval>> migrations;         // by device: managed memory moves to or from it; in order too
  // What is asked of each operation that ended a gap, and of the call that launched it, by what they share.
  struct OfOp {
    bool is_pageable = false;
    bool may_wait = false;      // its stream was told to wait for an event at any time
    bool may_be_queue = false;  // nothing but other work can have held it up once it was launched
  };
  struct OfCall {
    uint32_t thread = kNone;
    int64_t process_start_ns = 0;
  };
  std::vector<OfOp> of_ops;      // by PackedOps::FactsIndex
  std::vector<OfCall> of_calls;  // by PackedCalls::FactsIndex
  bool has_waits = false;        // for events, by any stream

 private:
  void FindInterruptions(const Trace& trace);
  void AddFacts(const Trace& trace);
};

// Tells gaps that are `queue` or `launch` from end to end from all others. They have one part, with the call that
// launched what ended them. Gaps of a device have to come in order.
class PlainGaps {
 public:
  PlainGaps(const Trace& trace, const Holdups& holdups) : holdups_(holdups), quiet_(trace.threads.size()) {}

  enum class Shape : uint8_t { kQueue, kLaunch, kOther };
  // `start_ns` to `end_ns` is the launching call.
  Shape ShapeOf(int64_t gap_start_ns, int64_t gap_end_ns, int64_t start_ns, int64_t end_ns, const Holdups::OfCall& call,
                const Holdups::OfOp& op) {
    if (call.thread == kNone) return Shape::kOther;
    if (end_ns <= gap_start_ns) return op.may_be_queue ? Shape::kQueue : Shape::kOther;
    if (start_ns > gap_start_ns || call.process_start_ns > gap_start_ns || op.is_pageable) return Shape::kOther;
    const bool is_quiet = gap_end_ns <= quiet_[call.thread].until_ns;
    return is_quiet || !IsInterrupted(call.thread, gap_start_ns, gap_end_ns) ? Shape::kLaunch : Shape::kOther;
  }

 private:
  // Until the next interruption of a thread.
  struct Quiet {
    int64_t until_ns = INT64_MIN;
    size_t interruption = 0;
  };

  bool IsInterrupted(uint32_t thread, int64_t from_ns, int64_t to_ns);

  const Holdups& holdups_;
  std::vector<Quiet> quiet_;  // one for each thread
};

}  // namespace gprof
