// The critical path: what the end of the program waited for, and what that waited for, back to its first CUDA call.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "analysis/facts/calls/call_numbers.h"
#include "analysis/facts/gaps/gap_list.h"
#include "analysis/facts/host/event_waits.h"
#include "analysis/facts/operations/op_facts.h"
#include "analysis/facts/operations/operations.h"
#include "analysis/facts/time/search_near.h"
#include "gprof/analysis.h"

namespace gprof {

enum class PathKind : uint8_t {
  kOperation,  // the operation ran
  kQueue,      // it was launched and nothing it is known to wait for was left, but it had not started
  kCall,       // the call ran, and nothing on a GPU is known that it waited for
  kReturn,     // the operation that the call waited for was done, and it had not returned
  kHost,       // the thread was between calls
  kUnknown,    // nothing is known to lead there
};

struct PathPiece {
  int64_t start_ns = 0, end_ns = 0;
  PathKind kind = PathKind::kUnknown;
  uint32_t index = kNone;   // of the operation, call or thread, whichever the kind is about
  uint32_t thread = kNone;  // of kCall and kHost
  int64_t DurationNs() const { return end_ns - start_ns; }
};

class CriticalWalk {
 public:
  explicit CriticalWalk(const AnalysisInput& input);

  // Of the process whose work ended last: from its first call or operation to its last end. Without any it is empty.
  const Interval& window() const { return window_; }

  // Calls add(piece) from the end to the beginning; the pieces cover the window, and none overlap. To be called once.
  template <class Add>
  void Run(Add&& add) {
    // Every step goes back in time or to an operation or call before; the limit ends what a damaged trace makes up.
    const size_t most_steps = 4 * (trace_.ops.size() + trace_.api_calls.size()) + 16;
    for (size_t step = 0; step < most_steps && now_ns_ > window_.start_ns; ++step) {
      const bool goes_on = op_ != kNone ? StepOperation(add) : StepThread(add);
      if (!goes_on) break;
    }
    Take(window_.start_ns, PathKind::kUnknown, kNone, add);
  }

 private:
  using Calls = Trace::Slice;

  // Where in its list the host waited for a stream, and how far before where it did later.
  struct LastWait {
    size_t at = 0, distance = 0;
  };

  // Gives the time from `start_ns` until now to a piece of the path.
  template <class Add>
  void Take(int64_t start_ns, PathKind kind, uint32_t index, Add&& add, uint32_t thread = kNone) {
    start_ns = std::max(start_ns, window_.start_ns);
    if (start_ns >= now_ns_) return;
    add(PathPiece{start_ns, now_ns_, kind, index, thread});
    now_ns_ = start_ns;
  }

  template <class Add>
  bool StepOperation(Add&& add) {
    const uint32_t index = op_;
    Take(trace_.ops[index].start_ns, PathKind::kOperation, index, add);
    const uint32_t call = ops_.CallOf(index);
    const int64_t call_ns = call == kNone ? kNever : EndOfLaunch(index, call);
    if (const uint32_t before = Before(index, call, call_ns); before != kNone) {
      Take(EndOf(before), PathKind::kQueue, index, add);
      op_ = before;
      return true;
    }
    const uint32_t thread = call == kNone ? kNone : trace_.api_calls[call].thread;
    if (thread == kNone) return false;
    Take(trace_.api_calls[call].end_ns, PathKind::kQueue, index, add);
    Take(trace_.api_calls[call].start_ns, PathKind::kCall, call, add, thread);
    op_ = kNone;
    thread_ = thread;
    calls_of_[thread_].last = std::min(calls_of_[thread_].last, call);
    return true;
  }

  // Back along the thread, to the operation that one of its calls waited for.
  template <class Add>
  bool StepThread(Add&& add) {
    Calls& calls = calls_of_[thread_];
    while (now_ns_ > window_.start_ns) {
      const uint32_t index = CallBeforeNow(&calls);
      if (index == kNone) {
        Take(window_.start_ns, PathKind::kHost, thread_, add, thread_);
        return false;
      }
      const Call call(trace_.api_calls, index);
      Take(call.end_ns(), PathKind::kHost, thread_, add, thread_);
      if (blocking_[index] != 0 || are_syncs_[call.kind_number()] != 0) {
        if (const uint32_t op = WaitedFor(index); op != kNone) {
          Take(EndOf(op), PathKind::kReturn, index, add);
          op_ = op;
          return true;
        }
      }
      Take(call.start_ns(), PathKind::kCall, index, add, thread_);
      calls.last = index;
    }
    return true;
  }

  // The outermost call of a thread that began last before now.
  uint32_t CallBeforeNow(Calls* calls) const {
    const auto begins_later = [&](uint32_t i) { return Call(trace_.api_calls, i).start_ns() >= now_ns_; };
    while (calls->last > calls->first && begins_later(calls->last - 1)) --calls->last;
    return calls->last == calls->first ? kNone : OutermostCall(trace_, calls->last - 1);
  }

  int64_t EndOf(uint32_t op) const { return op == kNone ? kNever : trace_.ops[op].end_ns; }
  uint32_t Later(uint32_t a, uint32_t b) const { return EndOf(b) > EndOf(a) ? b : a; }

  void Begin();
  // What the operation waited for once it was launched: what ended last, if that was after `call_ns`.
  uint32_t Before(uint32_t index, uint32_t call, int64_t call_ns);
  int64_t EndOfLaunch(uint32_t index, uint32_t call) const;
  uint32_t BeforeInStream(uint32_t index);
  uint32_t BeforeEvent(uint32_t index, uint32_t call);
  uint32_t LastEnded(std::span<const uint32_t> list, size_t end, int64_t time_ns) const;
  uint32_t Neighbour(uint32_t index, int64_t after_ns) const;
  uint32_t EndedBy(uint32_t op, int64_t time_ns) const { return EndOf(op) <= time_ns ? op : kNone; }
  uint32_t WaitedFor(uint32_t call);
  uint32_t WaitedForSync(const ApiCall& at, uint32_t call);
  size_t StartedBeforeNow(std::span<const uint32_t> list, LastWait* last) const;
  uint32_t LastOfProcess(const ApiCall& at, uint32_t call) const;

  static constexpr int64_t kNever = INT64_MIN;

  const Trace& trace_;
  const SharedFacts& shared_;
  const OpFacts& ops_;
  const std::vector<uint8_t>& blocking_;
  const EventWaits& events_;
  const StreamOps& of_stream_;
  std::vector<const GapList*> gaps_;                // by device
  std::vector<size_t> near_in_stream_, near_wait_;  // where the last searches ended, by stream
  std::vector<LastWait> last_waits_;                // by stream
  std::vector<uint8_t> are_syncs_;                  // by the traits of calls
  std::vector<Calls> calls_of_;                     // by thread: no more than those began before now
  CallNumbers sync_of_call_;                        // outermost call → what it waits for
  Interval window_;
  int64_t now_ns_ = 0;
  uint32_t op_ = kNone, thread_ = kNone;  // where the walk is: at the operation, or on the thread
};

}  // namespace gprof
