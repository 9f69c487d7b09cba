#include "analysis/topics/path/critical_walk.h"

#include "analysis/facts/operations/operations.h"
#include "analysis/facts/shared_facts.h"

namespace gprof {
namespace {

// Work that starts that soon after other work on its GPU ended was held up by it: a default stream, an engine, the SMs.
constexpr int64_t kHandoverNs = 5000;
constexpr size_t kMostNeighbours = 64;  // operations looked at for one that ended before

// By outermost call, in Trace::syncs.
std::vector<std::pair<uint32_t, uint32_t>> SyncsOfCalls(const Trace& trace) {
  std::vector<std::pair<uint32_t, uint32_t>> syncs;
  for (uint32_t i = 0; i < trace.syncs.size(); ++i) {
    const Sync& sync = trace.syncs[i];
    if (sync.kind == trace::SyncKind::kStreamWaitEvent || sync.api == kNone) continue;
    syncs.emplace_back(OutermostCall(trace, sync.api), i);
  }
  return syncs;
}

}  // namespace

CriticalWalk::CriticalWalk(const AnalysisInput& input)
    : trace_(input.trace()),
      shared_(input.shared()),
      ops_(input.shared().ops()),
      blocking_(input.shared().host().blocking_copies),
      events_(input.shared().host().event_waits),
      of_stream_(input.shared().stream_ops()),
      near_in_stream_(trace_.streams.size()),
      near_wait_(trace_.streams.size()),
      last_waits_(trace_.streams.size()),
      calls_of_(trace_.thread_api_calls),
      sync_of_call_(SyncsOfCalls(trace_)) {
  for (uint32_t i = 0; i < trace_.api_calls.TraitsCount(); ++i) {
    are_syncs_.push_back(trace_.api_calls.TraitsAt(i).api_class == ApiClass::kSync);
  }
  Begin();
}

// At the operation or call that ended last.
void CriticalWalk::Begin() {
  int64_t end_ns = kNever;
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
  if (op_ == kNone && thread_ == kNone) return;
  const uint32_t process = op_ != kNone ? trace_.ops[op_].process : trace_.threads[thread_].process;
  window_ = {std::min({end_ns, ops_.WindowOf(process).start_ns, calls.StartOf(process)}), end_ns};
  now_ns_ = end_ns;
}

uint32_t CriticalWalk::Before(uint32_t index, uint32_t call, int64_t call_ns) {
  uint32_t before = BeforeInStream(index);
  if (!events_.IsEmpty()) before = Later(before, BeforeEvent(index, call));
  const int64_t after_ns = std::max(EndOf(before), call_ns);
  if (const uint32_t neighbour = Neighbour(index, after_ns); neighbour != kNone) return neighbour;
  return before != kNone && EndOf(before) > call_ns ? before : kNone;
}

// A blocking copy may be held up by earlier work while its call waits already.
int64_t CriticalWalk::EndOfLaunch(uint32_t index, uint32_t call) const {
  if (blocking_[call] != 0) return trace_.api_calls[call].start_ns;
  return std::min(trace_.api_calls[call].end_ns, trace_.ops[index].start_ns);
}

uint32_t CriticalWalk::BeforeInStream(uint32_t index) {
  const uint32_t stream = trace_.ops[index].stream;
  if (stream == kNone) return kNone;
  const std::span<const uint32_t> list = of_stream_.OpsOf(stream);
  size_t& at = near_in_stream_[stream];
  // As a rule it is the one before that of the last search.
  at = at > 0 && list[at - 1] == index ? at - 1
                                       : PartitionPointNear(list.size(), at, [&](size_t i) { return list[i] < index; });
  return LastEnded(list, at, trace_.ops[index].start_ns);
}

// Of the operations in list[0, end), those before it in number, the one that ended last by then.
uint32_t CriticalWalk::LastEnded(std::span<const uint32_t> list, size_t end, int64_t time_ns) const {
  uint32_t best = kNone;
  for (size_t i = end, looked = 0; i > 0 && looked < kMostNeighbours; --i, ++looked) {
    const uint32_t op = list[i - 1];
    if (trace_.ops[op].end_ns <= time_ns && EndOf(op) > EndOf(best)) best = op;
    if (best != kNone && trace_.ops[op].graph == 0) break;  // streams run in order, but for what is in graphs
  }
  return best;
}

// What the GPU had done just before, if that ended after `after_ns`.
uint32_t CriticalWalk::Neighbour(uint32_t index, int64_t after_ns) const {
  const uint32_t device = trace_.ops[index].device;
  if (device == kNone) return kNone;
  const int64_t start_ns = trace_.ops[index].start_ns;
  const uint32_t first = trace_.device_ops[device].first;
  const GapList& gaps = *gaps_[device];
  int64_t best_ns = std::max(after_ns, start_ns - kHandoverNs - 1);
  uint32_t best = kNone;
  for (uint32_t i = index, looked = 0; i > first && looked < kMostNeighbours; --i, ++looked) {
    if (const int64_t idle_ns = gaps.IdleBefore(i); idle_ns > 0) {
      // Whatever comes before ended no later than this.
      if (trace_.ops[i].start_ns - idle_ns <= best_ns) break;
    }
    const int64_t end_ns = trace_.ops[i - 1].end_ns;
    if (end_ns <= start_ns && end_ns > best_ns) best = i - 1, best_ns = end_ns;
  }
  return best;
}

// The operation that the stream was told to wait for between this launch and the one before.
uint32_t CriticalWalk::BeforeEvent(uint32_t index, uint32_t call) {
  const uint32_t stream = trace_.ops[index].stream;
  if (stream == kNone || call == kNone) return kNone;
  const int64_t launch_ns = trace_.api_calls[call].start_ns;
  const std::span<const EventWait> waits = events_.WaitsOf(stream);
  size_t& after = near_wait_[stream];
  after = PartitionPointNear(waits.size(), after, [&](size_t i) { return waits[i].time_ns <= launch_ns; });
  return after == 0 ? kNone : EndedBy(waits[after - 1].op, trace_.ops[index].start_ns);
}

// What ended last of that which the call waited for, if that ended within the call.
uint32_t CriticalWalk::WaitedFor(uint32_t call) {
  const ApiCall& at = trace_.api_calls[call];
  const uint32_t op = blocking_[call] != 0 ? LastOfProcess(at, call) : WaitedForSync(at, call);
  return op != kNone && EndOf(op) > at.start_ns ? op : kNone;
}

uint32_t CriticalWalk::WaitedForSync(const ApiCall& at, uint32_t call) {
  const uint32_t found = sync_of_call_.Of(call);
  const Sync* sync = found == kNone ? nullptr : &trace_.syncs[found];
  if (sync != nullptr && sync->kind == trace::SyncKind::kEvent) {
    const uint32_t op = EndedBy(events_.Resolve(sync->event, at.process, at.start_ns).op, now_ns_);
    return op != kNone ? op : LastOfProcess(at, kNone);  // where the event was recorded may not be in the trace
  }
  if (sync == nullptr || sync->stream == kNone) return LastOfProcess(at, kNone);
  const std::span<const uint32_t> list = of_stream_.OpsOf(sync->stream);
  return LastEnded(list, list.empty() ? 0 : StartedBeforeNow(list, &last_waits_[sync->stream]), now_ns_);
}

// How many of the operations of a stream start before now.
size_t CriticalWalk::StartedBeforeNow(std::span<const uint32_t> list, LastWait* last) const {
  const auto starts_before = [this](uint32_t op) { return trace_.ops[op].start_ns < now_ns_; };
  // Those of one device are in order of their starts.
  if (trace_.ops[list.front()].device != trace_.ops[list.back()].device) {
    return static_cast<size_t>(std::ranges::partition_point(list, starts_before) - list.begin());
  }
  // Programs wait after as many operations as the time before.
  const size_t guess = last->at - std::min(last->at, last->distance);
  const size_t at = PartitionPointNear(list.size(), guess, [&](size_t i) { return starts_before(list[i]); });
  *last = {at, last->at - std::min(last->at, at)};
  return at;
}

// Of the process, launched by `call` alone where it is given.
uint32_t CriticalWalk::LastOfProcess(const ApiCall& at, uint32_t call) const {
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

}  // namespace gprof
