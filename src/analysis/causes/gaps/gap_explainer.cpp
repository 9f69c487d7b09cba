#include "analysis/causes/gaps/gap_explainer.h"

#include <algorithm>
#include <limits>
#include <span>

#include "analysis/facts/host/host_facts.h"
#include "analysis/facts/time/search_near.h"

namespace gprof {
namespace {

constexpr int64_t kNever = std::numeric_limits<int64_t>::min();

}  // namespace

GapExplainer::GapExplainer(const Trace& trace, const HostFacts& facts, const RecordedTime& recorded, const OpFacts& ops)
    : trace_(trace),
      facts_(facts),
      recorded_(recorded),
      ops_(ops),
      walk_(trace, facts),
      has_waits_(!facts.event_waits.IsEmpty() && (UntoldCauses(trace) & MaskOf(Cause::kDependency)) == kNoCause),
      process_has_calls_(trace.processes.size(), 0),
      seen_(trace.streams.size(), {kNever, kNever, 0}) {
  for (size_t i = 0; i < trace.threads.size(); ++i) {
    const bool has_calls = trace.thread_api_calls[i].first != trace.thread_api_calls[i].last;
    if (has_calls && trace.threads[i].process != kNone) process_has_calls_[trace.threads[i].process] = 1;
  }
  for (uint32_t i = 0; i < trace.ops.TraitsCount(); ++i) {
    const PackedOps::Traits& shared = trace.ops.TraitsAt(i);
    GpuOp op;
    op.kind = shared.kind, op.source_memory = shared.source_memory, op.destination_memory = shared.destination_memory;
    is_pageable_.push_back(op.IsPageable());
  }
}

void GapExplainer::Explain(const Gap& gap, std::vector<Part>* parts) {
  parts_ = parts;
  const Launch launch = gap.after != kNone ? LaunchOf(Operation(trace_.ops, gap.after)) : LaunchBeyond(gap.device);
  if (launch.thread == kNone) {
    parts_->emplace_back(gap.DurationNs(), WhyUnknown(gap));
  } else {
    ExplainByCall(gap, launch);
  }
  parts_->back().is_last = true;
}

// The thread is kNone where the call is not known.
inline GapExplainer::Launch GapExplainer::LaunchOf(const Operation& op) const {
  const PackedOps::Traits& shared = op.shared();
  const uint32_t index = ops_.CallOf(op);
  if (index == kNone) return {0, 0, kNone, kNone, kNone, shared.stream, false};
  const Call call(trace_.api_calls, index);
  const PackedCalls::Traits& caller = call.shared();
  return {call.start_ns(),
          call.end_ns(),
          index,
          caller.thread,
          caller.process,
          shared.stream,
          is_pageable_[op.kind_number()] != 0};
}

// Of what ended the last gap of the selected time.
GapExplainer::Launch GapExplainer::LaunchBeyond(uint32_t device) const {
  const DeviceWindow& window = trace_.device_windows[device];
  const uint32_t stream = window.next.stream;
  if (!window.has_next_call) return {0, 0, kNone, kNone, kNone, stream, false};
  const ApiCall& call = window.next_call;
  return {call.start_ns, call.end_ns, kNone, call.thread, call.process, stream, window.next.IsPageable()};
}

inline void GapExplainer::ExplainByCall(const Gap& gap, const Launch& launch) {
  if (launch.end_ns <= gap.start_ns) {
    return AddQueued(gap, launch.call, has_waits_ && WaitsForEvent(gap, launch) ? Cause::kDependency : Cause::kQueue);
  }
  int64_t from_ns = gap.start_ns;
  const int64_t process_start_ns = launch.process == kNone ? from_ns : trace_.processes[launch.process].start_ns;
  if (from_ns < process_start_ns) {
    const int64_t end_ns = std::min(process_start_ns, gap.end_ns);
    parts_->emplace_back(end_ns - from_ns, UnknownReason::kBeforeProcess);
    from_ns = end_ns;
  }
  // An operation that seems to start before its call (clocks differ a little) has no launch part.
  const int64_t entry_ns = std::clamp(launch.start_ns, from_ns, gap.end_ns);
  if (from_ns < entry_ns) AddHost(launch, gap.device, from_ns, entry_ns);
  if (entry_ns < gap.end_ns) {
    // Before a pageable copy starts on the GPU its call fills the staging buffer.
    const Cause cause = launch.is_pageable ? Cause::kCopy : Cause::kLaunch;
    walk_.AddLaunch(launch.thread, entry_ns, gap.end_ns, cause, launch.call, parts_);
  }
}

// Queued work waits for managed memory that is on its way: prefetches are no operations of their own.
inline void GapExplainer::AddQueued(const Gap& gap, uint32_t call, Cause cause) {
  const std::vector<Interval>& moves = facts_.migrations[gap.device];
  if (moves.empty()) {
    parts_->push_back(Part(cause, gap.DurationNs(), call));
    return;
  }
  int64_t from_ns = gap.start_ns;
  const auto add = [&](Cause of_part, int64_t until_ns) {
    if (from_ns >= until_ns) return;
    parts_->emplace_back(of_part, until_ns - from_ns, call);
    from_ns = until_ns;
  };
  auto move = std::ranges::partition_point(moves, [&](const Interval& m) { return m.end_ns <= from_ns; });
  for (; move != moves.end() && move->start_ns < gap.end_ns; ++move) {
    add(cause, move->start_ns);
    add(Cause::kMemory, std::min(move->end_ns, gap.end_ns));
  }
  add(cause, gap.end_ns);
}

// The device may be recorded for the sake of another process while this one is not.
void GapExplainer::AddHost(const Launch& launch, uint32_t device, int64_t from_ns, int64_t to_ns) {
  const auto add_pause = [&](int64_t until_ns) {
    if (from_ns >= until_ns) return;
    parts_->emplace_back(until_ns - from_ns, UnknownReason::kNotRecorded);
  };
  recorded_.ForEachOfProcess(launch.process, from_ns, to_ns, [&](int64_t start_ns, int64_t end_ns) {
    add_pause(start_ns);
    const size_t first = parts_->size();
    walk_.AddHost(launch.thread, start_ns, end_ns, parts_);
    if (!facts_.migrations[device].empty()) TakeMigrations(device, first, start_ns);
    from_ns = end_ns;
  });
  add_pause(to_ns);
}

// While managed memory moves, the host's code waits for it: it faulted on it. Takes that time from the parts of the
// host from `first` on, of which the first began at that time.
void GapExplainer::TakeMigrations(uint32_t device, size_t first, int64_t from_ns) {
  const std::vector<Interval>& moves = facts_.migrations[device];
  const std::vector<Part> parts(parts_->begin() + static_cast<std::ptrdiff_t>(first), parts_->end());
  parts_->erase(parts_->begin() + static_cast<std::ptrdiff_t>(first), parts_->end());
  for (Part part : parts) {
    const int64_t end_ns = from_ns + part.duration_ns;
    const auto add = [&](Cause cause, int64_t until_ns) {
      if (from_ns >= until_ns) return;
      part.cause = cause;
      part.duration_ns = until_ns - from_ns;
      parts_->push_back(part);
      from_ns = until_ns;
    };
    const Cause cause = part.cause;
    auto move = std::ranges::partition_point(moves, [&](const Interval& m) { return m.end_ns <= from_ns; });
    for (; cause == Cause::kHost && move != moves.end() && move->start_ns < end_ns; ++move) {
      add(cause, move->start_ns);
      add(Cause::kMemory, std::min(move->end_ns, end_ns));
    }
    add(cause, end_ns);
  }
}

void GapExplainer::SeeInStream(uint32_t op) {
  const GpuOp& seen_op = trace_.ops[op];
  if (seen_op.stream == kNone) return;
  Seen& seen = seen_[seen_op.stream];
  seen.launch_ns = std::max(seen.launch_ns, ops_.LaunchNs(op));
  seen.end_ns = std::max(seen.end_ns, seen_op.end_ns);
}

// A wait counts for the first operation that was launched into the stream after it.
bool GapExplainer::WaitsForEvent(const Gap& gap, const Launch& launch) {
  if (launch.stream == kNone) return false;
  const std::span<const EventWait> waits = facts_.event_waits.WaitsOf(launch.stream);
  Seen& seen = seen_[launch.stream];
  seen.waits =
      PartitionPointNear(waits.size(), seen.waits, [&](size_t i) { return waits[i].time_ns <= launch.start_ns; });
  for (size_t i = seen.waits; i > 0 && waits[i - 1].time_ns > seen.launch_ns; --i) {
    if (IsHeldUp(gap, launch.stream, waits[i - 1])) return true;
  }
  return false;
}

// What is not known may have been the reason. An event that completed well before the gap, or before the stream was
// done with its own work, was not.
bool GapExplainer::IsHeldUp(const Gap& gap, uint32_t stream, const EventWait& wait) const {
  if (!wait.is_known) return true;
  if (wait.op == kNone || trace_.ops[wait.op].stream == stream) return false;
  const int64_t completed_ns = trace_.ops[wait.op].end_ns;
  return completed_ns > seen_[stream].end_ns && completed_ns > gap.start_ns - kEventNoticeNs;
}

UnknownReason GapExplainer::WhyUnknown(const Gap& gap) const {
  if (gap.after == kNone && !trace_.device_windows[gap.device].has_next) return UnknownReason::kNotSelected;
  const GpuOp op = OpAfter(trace_, gap);
  if (gap.is_cut_after) return UnknownReason::kCaptureEnded;
  if (op.is_from_before) return UnknownReason::kBeforeCapture;
  if (op.process != kNone && process_has_calls_[op.process] == 0) return UnknownReason::kNoCalls;
  return trace_.health.IsComplete() ? UnknownReason::kNoCall : UnknownReason::kIncomplete;
}

}  // namespace gprof
