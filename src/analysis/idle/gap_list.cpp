#include "analysis/idle/gap_list.h"

#include <algorithm>
#include <utility>

namespace gprof {
namespace {

// Fewer are not worth a thread, and with more of them threads would spend their time on finding out where they are.
constexpr size_t kOpsOfAPiece = 16'384, kMostPieces = 32;

}  // namespace

GapList::GapList(const Trace& trace, const RecordedTime& recorded, const OpFacts& ops, uint32_t device)
    : trace_(trace),
      recorded_(recorded),
      sweep_(ops.of_device(device)),
      idle_ns_(ops.idle_ns()),
      ops_(trace.device_ops[device]),
      device_(device),
      is_throughout_(recorded.IsThroughout(device)),
      has_window_(HasWindow(trace, device)),
      pieces_(std::clamp<size_t>((ops_.last - ops_.first) / kOpsOfAPiece, 1, kMostPieces)) {
  const DeviceSweep::State& end = sweep_.end;
  busy_ = {BusyTime(end.busy_ns, end.ended_ns), end.kernels};
  if (!has_window_) return;
  const bool is_selected = !trace.device_windows.empty();
  const int64_t end_ns = is_selected ? trace.device_windows[device].time.end_ns : end.ended_ns;
  tail_ = {end.ended_ns, end_ns};
  window_ns_ = end_ns - sweep_.start_ns;
  if (is_throughout_) return;
  for (uint32_t i = ops_.first; i < ops_.last; ++i) {
    const int64_t idle_ns = IdleBefore(i), op_start_ns = trace.ops[i].start_ns;
    if (idle_ns != 0) AddPauses(op_start_ns - idle_ns, op_start_ns);
  }
  AddPauses(tail_.start_ns, tail_.end_ns);
  for (const Interval& pause : pauses_) window_ns_ -= pause.DurationNs();
}

void GapList::AddPauses(int64_t start_ns, int64_t end_ns) {
  if (start_ns >= end_ns) return;
  recorded_.ForEachOfDevice(device_, start_ns, end_ns, [&](int64_t from_ns, int64_t to_ns) {
    if (start_ns < from_ns) pauses_.push_back({start_ns, from_ns});
    start_ns = to_ns;
  });
  if (start_ns < end_ns) pauses_.push_back({start_ns, end_ns});
}

int64_t GapList::LongIdleBefore(uint32_t op) const {
  const DeviceSweep::LongIdle& all = sweep_.long_idle_ns;
  return std::lower_bound(all.begin(), all.end(), std::pair(op, int64_t{0}))->second;
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
    if (idle_ns_[i] != 0) break;  // what ran before it had ended
  }
  return best;
}

int64_t GapList::IdleUntil(int64_t time_ns, uint32_t next, int64_t idle_ns) const {
  if (next == ops_.last) {
    const int64_t until_ns = std::min(time_ns, tail_.end_ns);
    return idle_ns + std::max<int64_t>(0, until_ns - tail_.start_ns);
  }
  return idle_ns - std::min(IdleBefore(next), trace_.ops[next].start_ns - time_ns);
}

}  // namespace gprof
