// What waits for CUDA events wait for: the last operation launched into the recording stream before the event.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "analysis/facts/operations/op_facts.h"
#include "analysis/result/display_names.h"
#include "gprof/trace.h"

namespace gprof {

// An event that had completed that long before work started did not hold it up: the GPU takes less to notice.
inline constexpr int64_t kEventNoticeNs = 5000;

// A stream was told to wait for an event (cudaStreamWaitEvent).
struct EventWait {
  int64_t time_ns = 0;      // when it was told
  uint32_t stream = kNone;  // that waits
  uint32_t sync = kNone;    // in Trace::syncs
  uint32_t record = kNone;  // in Trace::event_records; kNone: not in the trace
  uint32_t op = kNone;      // that completes the event; kNone: not known, or nothing was left to complete
  bool is_known = false;    // `op` is the whole truth: the record and its stream are in the trace
};

// What operations are grouped by that events stand for: the stream of the event, and operations of one name.
using EventTarget = std::tuple<uint32_t, OpKind, uint32_t, Direction>;
EventTarget TargetOf(const Trace& trace, const EventWait& wait);
// "gemm", "(nothing)" where nothing was left to complete, "(unknown)"
std::string TargetName(const Trace& trace, uint32_t op, bool is_known);

class EventWaits {
 public:
  // Keeps references to all of them.
  EventWaits(const Trace& trace, const OpFacts& ops, const StreamOps& stream_ops);

  // Of one stream, in order of time.
  std::span<const EventWait> WaitsOf(uint32_t stream) const;
  bool IsEmpty() const { return waits_.empty(); }

  // What an event stands for that a thread or stream of the process waits for from `time_ns` on.
  EventWait Resolve(uint64_t event, uint32_t process, int64_t time_ns) const;

 private:
  struct Record {
    uint32_t process = 0;
    uint64_t event = 0;
    int64_t time_ns = 0;
    uint32_t index = 0;
  };

  void SortRecords();
  void FindLastBefore();
  size_t CountBefore(const EventRecord& record, size_t guess) const;
  uint32_t LastOf(std::span<const uint32_t> ops) const;

  const Trace& trace_;
  const OpFacts& ops_;
  const StreamOps& stream_ops_;
  std::vector<Record> records_;        // by process, event, time
  std::vector<uint32_t> last_before_;  // by event record: the operation that completes it
  std::vector<EventWait> waits_;       // by stream, time
  std::vector<uint32_t> first_wait_;   // of each stream, and one more
};

}  // namespace gprof
