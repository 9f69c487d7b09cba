// The critical path: what the end of the program waited for, and what that waited for, back to its first CUDA call.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "analysis/calls/call_kinds.h"
#include "analysis/facts/call_numbers.h"
#include "analysis/facts/op_facts.h"
#include "analysis/facts/search_near.h"
#include "analysis/idle/gap_list.h"
#include "analysis/streams/stream_ops.h"
#include "analysis/waits/event_waits.h"
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
  //
  // `plain` may take pieces of calls and of the host's own code between them, which most are, in another way: of
  // plain.PiecesOf(thread) come free_since_ns() and, for pieces of that thread that begin no earlier, AddHost(from_ns,
  // to_ns), in the same order, and AddCalls(facts, total_ns, count); until add() is called again.
  template <class Add, class Plain>
  void Run(Add&& add, Plain&& plain) {
    // Every step goes back in time or to an operation or call before; the limit ends what a damaged trace makes up.
    const size_t most_steps = 4 * (trace_.ops.size() + trace_.api_calls.size()) + 16;
    for (size_t step = 0; step < most_steps && now_ns_ > window_.start_ns; ++step) {
      const bool goes_on = op_ != kNone ? StepOperation(add) : StepThread(add, plain);
      if (!goes_on) break;
    }
    Take(window_.start_ns, PathKind::kUnknown, kNone, add);
  }
  template <class Add>
  void Run(Add&& add) {
    Run(add, TakesNone());
  }

 private:
  using Calls = Trace::Slice;

  // Where in its list the host waited for a stream, and how far before where it did later.
  struct LastWait {
    size_t at = 0, distance = 0;
  };

  struct TakesNone {
    struct Pieces {
      int64_t free_since_ns() const { return std::numeric_limits<int64_t>::max(); }
      void AddCalls(uint32_t, int64_t, int64_t) const {}
      void AddHost(int64_t, int64_t) const {}
    };
    Pieces PiecesOf(uint32_t) const { return {}; }
  };

  // Gives the time from `start_ns` until now to a piece of the path.
  template <class Add>
  [[gnu::always_inline]] void Take(int64_t start_ns, PathKind kind, uint32_t index, Add&& add,
                                   uint32_t thread = kNone) {
    now_ns_ = TakeFrom(now_ns_, start_ns, kind, index, thread, add);
  }

  // The same where the caller keeps what is now by itself.
  template <class Add>
  [[gnu::always_inline]] int64_t TakeFrom(int64_t now_ns, int64_t start_ns, PathKind kind, uint32_t index,
                                          uint32_t thread, Add&& add) const {
    start_ns = std::max(start_ns, window_.start_ns);
    if (start_ns >= now_ns) return now_ns;
    add(PathPiece{start_ns, now_ns, kind, index, thread});
    return start_ns;
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

  // Back along the thread, to the operation that one of its calls waited for. Most calls of most paths go by here: what
  // is now and where the thread is are kept at hand until somebody else looks at them.
  template <class Add, class Plain>
  bool StepThread(Add&& add, Plain&& plain) {
    const PackedCalls::Item* const items = trace_.api_calls.items().data();
    const uint32_t thread = thread_;
    Calls calls = calls_of_[thread];
    int64_t now_ns = now_ns_;
    while ((now_ns = PassPlainCalls(now_ns, plain.PiecesOf(thread), &calls)) > window_.start_ns) {
      const uint32_t call = CallBefore(now_ns, &calls);
      const PackedCalls::Item& item = items[call == kNone ? 0 : call];
      const int64_t end_ns = call == kNone ? window_.start_ns : trace_.api_calls.EndNs(item);
      now_ns = TakeFrom(now_ns, end_ns, PathKind::kHost, thread, thread, add);
      if (call == kNone) {
        LeaveThread(now_ns, calls);
        return false;
      }
      if (blocking_[call] != 0 || are_syncs_[item.facts] != 0) {
        LeaveThread(now_ns, calls);
        if (const uint32_t op = WaitedFor(call); op != kNone) {
          Take(EndOf(op), PathKind::kReturn, call, add);
          op_ = op;
          return true;
        }
      }
      now_ns = TakeFrom(now_ns, item.start_ns(), PathKind::kCall, call, thread, add);
      calls.last = call;
    }
    LeaveThread(now_ns, calls);
    return true;
  }

  // Goes back over calls that no other call made, that wait for nothing, and that began before what is now, as long as
  // they come. Returns what is now.
  template <class Pieces>
  [[gnu::always_inline]] int64_t PassPlainCalls(int64_t now_ns, Pieces pieces, Calls* calls) const {
    const PackedCalls::Item* const items = trace_.api_calls.items().data();
    const PackedCalls::Item *call = items + calls->last, *const first = items + calls->first;
    const int64_t since_ns = std::max(window_.start_ns, pieces.free_since_ns());
    while (call > first && may_wait_[call[-1].facts] == 0) {
      const PackedCalls::Item* const last = call;
      call = PassAlike(call, first, since_ns, &now_ns, pieces);
      if (call == last) break;
    }
    calls->last = static_cast<uint32_t>(call - items);
    return now_ns;
  }

  // The same for those that share their facts. Returns the last one of those that it passed.
  template <class Pieces>
  [[gnu::always_inline]] static const PackedCalls::Item* PassAlike(const PackedCalls::Item* call,
                                                                   const PackedCalls::Item* first, int64_t since_ns,
                                                                   int64_t* now, Pieces& pieces) {
    const PackedCalls::Item* const last = call;
    const uint32_t facts = call[-1].facts;
    int64_t now_ns = *now, calls_ns = 0;
    for (; call > first; --call) {
      const PackedCalls::Item& item = call[-1];
      PrefetchBefore(&item);
      if (item.facts != facts || item.parent != 0 || item.duration_high != 0) break;
      if (item.duration == 0) break;  // has no piece
      const int64_t start_ns = item.start_ns(), end_ns = start_ns + item.duration;
      if (start_ns < since_ns || start_ns >= now_ns) break;
      if (end_ns < now_ns) [[likely]] {
        pieces.AddHost(end_ns, now_ns);
        now_ns = end_ns;
      }
      calls_ns += now_ns - start_ns;
      now_ns = start_ns;
    }
    pieces.AddCalls(facts, calls_ns, last - call);
    *now = now_ns;
    return call;
  }

  // PrefetchForReading for a loop that goes back.
  static void PrefetchBefore(const PackedCalls::Item* item) {
    constexpr size_t kItems = 24;
    __builtin_prefetch(reinterpret_cast<const void*>(reinterpret_cast<uintptr_t>(item) - kItems * sizeof(*item)));
  }

  void LeaveThread(int64_t now_ns, const Calls& calls) {
    now_ns_ = now_ns;
    calls_of_[thread_] = calls;
  }

  // The outermost call of a thread that began last before now.
  uint32_t CallBefore(int64_t now_ns, Calls* calls) const {
    const PackedCalls::Item* const items = trace_.api_calls.items().data();
    if (calls->last > calls->first && items[calls->last - 1].start_ns() >= now_ns) {
      const uint32_t count = calls->last - calls->first;
      const auto is_before = [&](size_t i) { return items[calls->first + i].start_ns() < now_ns; };
      calls->last = calls->first + static_cast<uint32_t>(PartitionPointNear(count, count, is_before));
    }
    if (calls->last <= calls->first) return kNone;
    const uint32_t call = calls->last - 1;
    return items[call].MayHaveParent() ? OutermostCall(trace_, call) : call;
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
  std::vector<uint8_t> are_syncs_;                  // by the facts of calls
  std::vector<uint8_t> may_wait_;                   // the same of those that wait for operations, some at least
  std::vector<Calls> calls_of_;                     // by thread: no more than those began before now
  CallNumbers sync_of_call_;                        // outermost call → what it waits for
  Interval window_;
  int64_t now_ns_ = 0;
  uint32_t op_ = kNone, thread_ = kNone;  // where the walk is: at the operation, or on the thread
};

}  // namespace gprof
