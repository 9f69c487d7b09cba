#include "analysis/critical_walk.h"

#include <algorithm>
#include <limits>
#include <span>
#include <unordered_map>
#include <utility>

#include "analysis/calls.h"
#include "analysis/event_waits.h"
#include "analysis/near.h"
#include "analysis/shared_facts.h"
#include "analysis/together.h"

namespace gprof {
namespace {

// Work that starts that soon after other work on its GPU ended was held up by it: a default stream, an engine, the SMs.
constexpr int64_t kHandoverNs = 5000;
constexpr size_t kMostNeighbours = 64;  // operations looked at for one that ended before

class Walk {
 public:
  explicit Walk(const AnalysisInput& input)
      : trace_(input.trace()),
        shared_(input.shared()),
        ops_(input.shared().ops()),
        blocking_(input.shared().host().blocking_copies),
        events_(input.shared().host().event_waits),
        of_stream_(input.shared().stream_ops()),
        near_in_stream_(trace_.streams.size()),
        near_in_thread_(trace_.threads.size()) {
    for (uint32_t i = 0; i < trace_.syncs.size(); ++i) {
      const Sync& sync = trace_.syncs[i];
      if (sync.kind == trace::SyncKind::kStreamWaitEvent || sync.api == kNone) continue;
      sync_of_call_[OutermostCall(trace_, sync.api)] = i;
    }
  }

  CriticalPath Run() {
    if (!Begin()) return std::move(path_);
    // Every step goes back in time or to an operation or call before; the limit ends what a damaged trace makes up.
    const size_t most_steps = 4 * (trace_.ops.size() + trace_.api_calls.size()) + 16;
    for (size_t step = 0; step < most_steps && now_ns_ > path_.start_ns; ++step) {
      const bool goes_on = op_ != kNone ? StepOperation() : StepThread();
      if (!goes_on) break;
    }
    Take(path_.start_ns, PathKind::kUnknown, kNone);
    return std::move(path_);
  }

 private:
  // The operation or call that ended last.
  bool Begin() {
    int64_t end_ns = std::numeric_limits<int64_t>::min();
    for (uint32_t device = 0; device < trace_.device_ops.size(); ++device) {
      gaps_.push_back(&shared_.gaps(device));
      const uint32_t last = gaps_.back()->last_ended();
      if (EndOf(last) > end_ns) end_ns = EndOf(last), op_ = last;
    }
    const CallFacts& calls = shared_.calls();
    if (const uint32_t last = calls.last_ended(); last != kNone && trace_.api_calls[last].end_ns >= end_ns) {
      end_ns = trace_.api_calls[last].end_ns;
      op_ = kNone;
      thread_ = trace_.api_calls[last].thread;
    }
    if (op_ == kNone && thread_ == kNone) return false;
    path_.process = op_ != kNone ? trace_.ops[op_].process : trace_.threads[thread_].process;
    path_.end_ns = now_ns_ = end_ns;
    path_.start_ns = std::min({end_ns, shared_.ops().WindowOf(path_.process).start_ns, calls.StartOf(path_.process)});
    return true;
  }

  // Gives the time from `start_ns` until now to a piece of the path.
  void Take(int64_t start_ns, PathKind kind, uint32_t index) {
    start_ns = std::max(start_ns, path_.start_ns);
    if (start_ns >= now_ns_) return;
    path_.AddBefore(start_ns, kind, index);
    now_ns_ = start_ns;
  }

  bool StepOperation() {
    const uint32_t index = op_;
    const GpuOp& op = trace_.ops[index];
    Take(op.start_ns, PathKind::kOperation, index);
    const uint32_t call = ops_.CallOf(index);
    uint32_t before = Later(BeforeInStream(index), BeforeEvent(op, call));
    const int64_t call_ns = call == kNone ? std::numeric_limits<int64_t>::min() : EndOfLaunch(op, call);
    const uint32_t neighbour = Neighbour(index);
    if (neighbour != kNone && EndOf(neighbour) > std::max(EndOf(before), call_ns)) before = neighbour;
    if (before != kNone && EndOf(before) > call_ns) {
      Take(EndOf(before), PathKind::kQueue, index);
      op_ = before;
      return true;
    }
    if (call == kNone || trace_.api_calls[call].thread == kNone) return false;
    Take(trace_.api_calls[call].end_ns, PathKind::kQueue, index);
    Take(trace_.api_calls[call].start_ns, PathKind::kCall, call);
    op_ = kNone;
    thread_ = trace_.api_calls[call].thread;
    return true;
  }

  int64_t EndOf(uint32_t op) const { return op == kNone ? std::numeric_limits<int64_t>::min() : trace_.ops[op].end_ns; }
  uint32_t Later(uint32_t a, uint32_t b) const { return EndOf(b) > EndOf(a) ? b : a; }

  // A blocking copy may be held up by earlier work while its call waits already.
  int64_t EndOfLaunch(const GpuOp& op, uint32_t call) const {
    if (blocking_[call] != 0) return trace_.api_calls[call].start_ns;
    return std::min(trace_.api_calls[call].end_ns, op.start_ns);
  }

  uint32_t BeforeInStream(uint32_t index) {
    const GpuOp& op = trace_.ops[index];
    if (op.stream == kNone) return kNone;
    const std::span<const uint32_t> list = of_stream_.Of(op.stream);
    size_t& at = near_in_stream_[op.stream];
    at = PartitionPointNear(list.size(), at, [&](size_t i) { return list[i] < index; });
    return LastEnded(list, at, op.start_ns);
  }

  // Of the operations in list[0, end), those before it in number, the one that ended last by then.
  uint32_t LastEnded(std::span<const uint32_t> list, size_t end, int64_t time_ns) const {
    uint32_t best = kNone;
    for (size_t i = end, looked = 0; i > 0 && looked < kMostNeighbours; --i, ++looked) {
      const uint32_t op = list[i - 1];
      if (trace_.ops[op].end_ns <= time_ns && EndOf(op) > EndOf(best)) best = op;
      if (best != kNone && trace_.ops[op].graph == 0) break;  // streams run in order, but for what is in graphs
    }
    return best;
  }

  uint32_t Neighbour(uint32_t index) const {
    const GpuOp& op = trace_.ops[index];
    if (op.device == kNone) return kNone;
    const uint32_t first = trace_.device_ops[op.device].first;
    const GapList& gaps = *gaps_[op.device];
    uint32_t best = kNone;
    for (uint32_t i = index, looked = 0; i > first && looked < kMostNeighbours; --i, ++looked) {
      if (const int64_t idle_ns = gaps.IdleBefore(i); idle_ns > 0) {
        // Whatever comes before ended no later than this.
        const int64_t ended_by_ns = trace_.ops[i].start_ns - idle_ns;
        if (ended_by_ns < op.start_ns - kHandoverNs || (best != kNone && ended_by_ns <= EndOf(best))) break;
      }
      const GpuOp& other = trace_.ops[i - 1];
      if (other.end_ns > op.start_ns || op.start_ns - other.end_ns > kHandoverNs) continue;
      if (EndOf(i - 1) > EndOf(best)) best = i - 1;
    }
    return best;
  }

  // The operation that the stream was told to wait for between this launch and the one before.
  uint32_t BeforeEvent(const GpuOp& op, uint32_t call) const {
    if (op.stream == kNone || call == kNone) return kNone;
    const int64_t launch_ns = trace_.api_calls[call].start_ns;
    const std::span<const EventWait> waits = events_.Of(op.stream);
    const auto after = std::partition_point(waits.begin(), waits.end(),
                                            [&](const EventWait& wait) { return wait.time_ns <= launch_ns; });
    return after == waits.begin() ? kNone : EndedBy((after - 1)->op, op.start_ns);
  }

  uint32_t EndedBy(uint32_t op, int64_t time_ns) const { return EndOf(op) <= time_ns ? op : kNone; }

  bool StepThread() {
    const uint32_t call = CallBefore(thread_, now_ns_);
    if (call == kNone) {
      Take(path_.start_ns, PathKind::kHost, thread_);
      return false;
    }
    const ApiCall& at = trace_.api_calls[call];
    if (at.end_ns < now_ns_) Take(at.end_ns, PathKind::kHost, thread_);
    const uint32_t op = WaitedFor(call);
    if (op == kNone) {
      Take(at.start_ns, PathKind::kCall, call);
      return true;
    }
    Take(EndOf(op), PathKind::kReturn, call);
    op_ = op;
    return true;
  }

  // The outermost call of the thread that began last before then.
  uint32_t CallBefore(uint32_t thread, int64_t time_ns) {
    const Trace::Slice slice = trace_.thread_api_calls[thread];
    size_t& at = near_in_thread_[thread];
    at = PartitionPointNear(slice.last - slice.first, at,
                            [&](size_t i) { return trace_.api_calls[slice.first + i].start_ns < time_ns; });
    return at == 0 ? kNone : OutermostCall(trace_, slice.first + static_cast<uint32_t>(at) - 1);
  }

  // What ended last of that which the call waited for, if that ended within the call.
  uint32_t WaitedFor(uint32_t call) const {
    const ApiCall& at = trace_.api_calls[call];
    uint32_t op = kNone;
    if (blocking_[call] != 0) {
      op = LastOfProcess(at, call);
    } else if (at.api_class == ApiClass::kSync) {
      const auto found = sync_of_call_.find(call);
      const Sync* sync = found == sync_of_call_.end() ? nullptr : &trace_.syncs[found->second];
      if (sync != nullptr && sync->kind == trace::SyncKind::kEvent) {
        op = EndedBy(events_.Resolve(sync->event, at.process, at.start_ns).op, now_ns_);
        if (op == kNone) op = LastOfProcess(at, kNone);  // where the event was recorded is not in the trace
      } else if (sync != nullptr && sync->stream != kNone) {
        const std::span<const uint32_t> list = of_stream_.Of(sync->stream);
        const auto after = std::partition_point(list.begin(), list.end(),
                                                [&](uint32_t i) { return trace_.ops[i].start_ns < now_ns_; });
        op = LastEnded(list, static_cast<size_t>(after - list.begin()), now_ns_);
      } else {
        op = LastOfProcess(at, kNone);
      }
    }
    return op != kNone && EndOf(op) > at.start_ns ? op : kNone;
  }

  // Of the process, launched by `call` alone where it is given.
  uint32_t LastOfProcess(const ApiCall& at, uint32_t call) const {
    uint32_t best = kNone;
    for (const Trace::Slice slice : trace_.device_ops) {
      const auto begin = trace_.ops.begin();
      const auto after = std::partition_point(begin + slice.first, begin + slice.last,
                                              [&](const GpuOp& op) { return op.start_ns < now_ns_; });
      uint32_t looked = 0;
      for (auto i = static_cast<uint32_t>(after - begin); i > slice.first && looked < kMostNeighbours; --i, ++looked) {
        const GpuOp& op = trace_.ops[i - 1];
        if (op.process != at.process || op.end_ns > now_ns_) continue;
        if (call != kNone && ops_.CallOf(i - 1) != call) continue;
        best = Later(best, i - 1);
      }
    }
    return best;
  }

  const Trace& trace_;
  const SharedFacts& shared_;
  const OpFacts& ops_;
  const std::vector<uint8_t>& blocking_;
  const EventWaits& events_;
  const StreamOps& of_stream_;
  std::vector<const GapList*> gaps_;                     // by device
  std::vector<size_t> near_in_stream_, near_in_thread_;  // where the last search ended
  std::unordered_map<uint32_t, uint32_t> sync_of_call_;  // outermost call → what it waits for
  CriticalPath path_;
  int64_t now_ns_ = 0;
  uint32_t op_ = kNone, thread_ = kNone;  // where the walk is: at the operation, or on the thread
};

}  // namespace

void CriticalPath::AddBefore(int64_t from_ns, PathKind kind, uint32_t index) {
  if (size_ == 0) begin_ns_ = end_ns;
  if (size_ % kStepsOfABlock == 0) {
    Block& block = blocks_.emplace_back(Block{begin_ns_, {}, {}, {}});
    block.lengths_ns.reserve(kStepsOfABlock), block.indexes.reserve(kStepsOfABlock), block.kinds.reserve(kStepsOfABlock);
  }
  const int64_t length_ns = begin_ns_ - from_ns;
  if (length_ns >= kLong) long_ns_.emplace_back(size_, length_ns);
  Block& block = blocks_.back();
  block.lengths_ns.push_back(static_cast<uint32_t>(std::min<int64_t>(length_ns, kLong)));
  block.indexes.push_back(index);
  block.kinds.push_back(kind);
  begin_ns_ = from_ns;
  ++size_;
}

int64_t CriticalPath::LongLengthOf(size_t i) const {
  return std::lower_bound(long_ns_.begin(), long_ns_.end(), std::pair(i, int64_t{0}))->second;
}

int64_t CriticalPath::StartOf(size_t i) const {
  const size_t first = i / kStepsOfABlock * kStepsOfABlock;
  int64_t at_ns = blocks_[i / kStepsOfABlock].end_ns;
  for (size_t step = first; step <= i; ++step) at_ns -= LengthOf(step);
  return at_ns;
}

CriticalPath FindCriticalPath(const AnalysisInput& input) {
  RunTogether(input, {[&] { (void)input.shared().host(); }, [&] { (void)input.shared().window_ns(); }});
  return Walk(input).Run();
}

}  // namespace gprof
