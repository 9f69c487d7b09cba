// What a thread did in an interval: profiler, loading, CUDA call, blocked in the operating system, or its own code in
// an NVTX range.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/facts/host/host_facts.h"
#include "analysis/result/idle_causes.h"
#include "gprof/trace.h"

namespace gprof {

// Why a piece of idle time has the cause `unknown`.
enum class UnknownReason : uint8_t {
  kIsKnown,
  kNoCalls,
  kIncomplete,
  kNoCall,
  kBeforeProcess,
  kBeforeCapture,
  kNotRecorded,
  kCaptureEnded,
  kNotSelected,
};
inline constexpr size_t kUnknownReasonCount = 9;

// A piece of a gap, or gaps in a row that one cause explains from end to end (IdleRun). Kept for all gaps of a trace:
// 16 bytes.
class Part {
 public:
  // What a call was the reason of; kNone: no call was.
  Part(Cause of_cause, int64_t ns, uint32_t of_call)
      : duration_ns(ns), cause(of_cause), reason(UnknownReason::kIsKnown), has_path_(false), call_or_path_(of_call) {}
  // The host between CUDA calls (IsOwnCode), in that innermost NVTX range.
  Part(Cause of_cause, int64_t ns, NameId of_path)
      : duration_ns(ns),
        cause(of_cause),
        reason(UnknownReason::kIsKnown),
        has_path_(true),
        call_or_path_(of_path.value) {}
  Part(int64_t ns, UnknownReason why)
      : duration_ns(ns), cause(Cause::kUnknown), reason(why), has_path_(false), call_or_path_(kNone) {}

  uint32_t call() const { return has_path_ ? kNone : call_or_path_; }    // kNone where no call is the reason
  NameId path() const { return NameId{has_path_ ? call_or_path_ : 0}; }  // may be empty

  int64_t duration_ns = 0;
  uint16_t gaps = 1;  // as many are explained by it
  Cause cause;
  UnknownReason reason : 5;
  bool is_last : 1 = false;  // of its gap

 private:
  bool has_path_ : 1;
  uint32_t call_or_path_;
};
static_assert(sizeof(Part) == 16);

// Walks along the threads, from the first interval that is asked for. For each thread the intervals must come in order
// and not overlap, so that all of them together cost no more than the thread has calls and ranges.
class HostWalk {
 public:
  HostWalk(const Trace& trace, const HostFacts& facts);

  // Appends what `thread` did in [from_ns, to_ns): the durations sum to the interval.
  void AddHost(uint32_t thread, int64_t from_ns, int64_t to_ns, std::vector<Part>* parts);
  // The same for an interval within the call that launched the operation: `cause` where nothing interrupted it.
  void AddLaunch(uint32_t thread, int64_t from_ns, int64_t to_ns, Cause cause, uint32_t call, std::vector<Part>* parts);

 private:
  struct OpenRange {
    uint32_t range;
    int64_t end_ns;
  };
  struct Cursor {
    uint32_t call = 0, range = 0;  // the next ones to look at
    size_t interruption = 0;
    bool is_placed = false;
    std::vector<OpenRange> open;  // ranges entered, innermost last
    void CloseUntil(int64_t time_ns) {
      while (!open.empty() && open.back().end_ns <= time_ns) open.pop_back();
    }
  };

  void Place(uint32_t thread, int64_t time_ns);
  void PlaceRanges(uint32_t thread, int64_t time_ns);
  template <class F>
  void SplitAtInterruptions(uint32_t thread, int64_t from_ns, int64_t to_ns, std::vector<Part>* parts, F&& between);
  void AddCalls(uint32_t thread, int64_t from_ns, int64_t to_ns, std::vector<Part>* parts);
  void AddOwnCode(uint32_t thread, int64_t from_ns, int64_t to_ns, std::vector<Part>* parts);
  void AddWait(const ThreadWait& wait, uint32_t thread, int64_t from_ns, int64_t to_ns, std::vector<Part>* parts);
  void AddByRange(Cause cause, uint32_t thread, int64_t from_ns, int64_t to_ns, std::vector<Part>* parts);
  void EnterRanges(uint32_t thread, int64_t time_ns);
  Cause CauseOf(uint32_t call) const;

  const Trace& trace_;
  const HostFacts& facts_;
  const CauseMask untold_;
  std::vector<Cursor> cursors_;  // one for each thread
  size_t followed_ = 0;          // threads that wait for each other, up to the one that is looked at
};

}  // namespace gprof
