#include "analysis/facts/gaps/gap_list.h"

#include <algorithm>

#include "analysis/facts/time/search_near.h"

namespace gprof {
namespace {

// Fewer are not worth a thread, and with more of them threads would spend their time on finding out where they are.
constexpr size_t kOpsOfAPiece = 16'384, kMostPieces = 32;

}  // namespace

GapList::GapList(const Trace& trace, const RecordedTime& recorded, uint32_t device)
    : trace_(trace),
      recorded_(recorded),
      ops_(trace.device_ops[device]),
      device_(device),
      is_throughout_(recorded.IsThroughout(device)),
      has_window_(HasWindow(trace, device)),
      pieces_(std::clamp<size_t>((ops_.last - ops_.first) / kOpsOfAPiece, 1, kMostPieces)) {
  const bool is_selected = !trace.device_windows.empty(), has_ops = ops_.first != ops_.last;
  const int64_t start_ns = is_selected ? trace.device_windows[device].time.start_ns
                           : has_ops   ? trace.ops[ops_.first].start_ns
                                       : 0;
  start_ns_ = start_ns;
  FindIdle(start_ns);
  if (!has_window_) return;
  const int64_t end_ns = is_selected ? trace.device_windows[device].time.end_ns : tail_.start_ns;
  tail_.end_ns = end_ns;
  window_ns_ = end_ns - start_ns;
  idle_ns_ = idle_until_ns_.back() + std::max<int64_t>(tail_.DurationNs(), 0);
  if (is_throughout_) return;
  for (uint32_t i = ops_.first; i < ops_.last; ++i) {
    const int64_t idle_ns = IdleBefore(i), op_start_ns = trace.ops[i].start_ns;
    if (idle_ns != 0) AddPauses(op_start_ns - idle_ns, op_start_ns);
  }
  AddPauses(tail_.start_ns, tail_.end_ns);
  for (const Interval& pause : pauses_) {
    window_ns_ -= pause.DurationNs();
    idle_ns_ -= pause.DurationNs();
  }
}

Interval GapList::window() const {
  if (!trace_.device_windows.empty()) return trace_.device_windows[device_].time;
  return {start_ns_, trace_.ops[last_ended_].end_ns};
}

// An operation that began before the window is busy from its start on, although nothing was idle before the window.
void GapList::FindIdle(int64_t start_ns) {
  idle_until_ns_.resize(ops_.last - ops_.first + 1);
  int64_t* until_ns = idle_until_ns_.data();
  int64_t idle_ns = 0, ended_ns = start_ns;  // all before had
  Busy busy;
  for (const Operation op : OperationsOf(trace_, ops_)) {
    const int64_t op_start_ns = op.start_ns(), end_ns = op.end_ns();
    idle_ns += std::max<int64_t>(op_start_ns - ended_ns, 0);
    *++until_ns = idle_ns;
    busy.any.Add(op_start_ns, end_ns);
    if (op.is_kernel()) busy.kernels.Add(op_start_ns, end_ns);
    if (end_ns > ended_ns || last_ended_ == kNone) last_ended_ = op.index();
    ended_ns = std::max(ended_ns, end_ns);
  }
  busy_ = busy;
  tail_ = {ended_ns, ended_ns};
}

void GapList::AddPauses(int64_t start_ns, int64_t end_ns) {
  if (start_ns >= end_ns) return;
  recorded_.ForEachOfDevice(device_, start_ns, end_ns, [&](int64_t from_ns, int64_t to_ns) {
    if (start_ns < from_ns) pauses_.push_back({start_ns, from_ns});
    start_ns = to_ns;
  });
  if (start_ns < end_ns) pauses_.push_back({start_ns, end_ns});
}

int64_t GapList::RecordedGapBefore(uint32_t op, int64_t idle_ns) const {
  const int64_t end_ns = trace_.ops[op].start_ns;
  int64_t gap_ns = 0;
  recorded_.ForEachOfDevice(device_, end_ns - idle_ns, end_ns, [&](int64_t from_ns, int64_t to_ns) {
    if (to_ns == end_ns) gap_ns = to_ns - from_ns;
  });
  return gap_ns;
}

uint32_t GapList::OpBefore(const Gap& gap) const {
  uint32_t best = kNone;
  for (uint32_t i = gap.after == kNone ? ops_.last : gap.after; i > ops_.first;) {
    --i;
    if (best == kNone || trace_.ops[i].end_ns >= trace_.ops[best].end_ns) best = i;
    if (IdleBefore(i) != 0) break;  // what ran before it had ended
  }
  return best;
}

int64_t GapList::IdleUntil(int64_t time_ns, size_t next) const {
  if (next + 1 == idle_until_ns_.size()) {
    return idle_until_ns_[next] + std::max<int64_t>(std::min(time_ns, tail_.end_ns) - tail_.start_ns, 0);
  }
  const int64_t to_next_ns = trace_.ops[ops_.first + next].start_ns - time_ns;
  return std::max(idle_until_ns_[next], idle_until_ns_[next + 1] - to_next_ns);
}

IdleWithin::IdleWithin(const Trace& trace, const GapList& gaps) : trace_(trace), gaps_(gaps), paused_ns_{0} {
  for (const Interval& pause : gaps.pauses()) paused_ns_.push_back(paused_ns_.back() + pause.DurationNs());
}

int64_t IdleWithin::IdleNs(int64_t start_ns, int64_t end_ns) {
  next_ = FirstAfter(start_ns, next_);
  const int64_t idle_ns = gaps_.IdleUntil(end_ns, FirstAfter(end_ns, next_)) - gaps_.IdleUntil(start_ns, next_);
  return gaps_.pauses().empty() ? idle_ns : idle_ns - (PausedUntil(end_ns) - PausedUntil(start_ns));
}

// Counted from the first operation of the device.
size_t IdleWithin::FirstAfter(int64_t time_ns, size_t hint) const {
  const Trace::Slice ops = gaps_.ops();
  return PartitionPointNear(ops.last - ops.first, hint,
                            [&](size_t i) { return trace_.ops[ops.first + i].start_ns <= time_ns; });
}

int64_t IdleWithin::PausedUntil(int64_t time_ns) const {
  const std::vector<Interval>& pauses = gaps_.pauses();
  const auto after =
      std::ranges::partition_point(pauses, [&](const Interval& pause) { return pause.end_ns <= time_ns; });
  const int64_t within_ns = after == pauses.end() ? 0 : std::max<int64_t>(0, time_ns - after->start_ns);
  return paused_ns_[static_cast<size_t>(after - pauses.begin())] + within_ns;
}

}  // namespace gprof
