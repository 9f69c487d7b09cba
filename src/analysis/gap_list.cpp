#include "analysis/gap_list.h"

#include <algorithm>

#include "base/parallel.h"

namespace gprof {
namespace {

// Fewer are not worth a thread, and with more of them threads would spend their time on finding out where they are.
constexpr size_t kOpsOfAPiece = 16'384, kMostPieces = 32;

}  // namespace

GapList::GapList(const Trace& trace, const RecordedTime& recorded, uint32_t device, size_t threads)
    : trace_(trace),
      recorded_(recorded),
      ops_(trace.device_ops[device]),
      device_(device),
      is_throughout_(recorded.IsThroughout(device)),
      has_window_(HasWindow(trace, device)),
      pieces_(std::clamp<size_t>((ops_.last - ops_.first) / kOpsOfAPiece, 1, kMostPieces)),
      idle_ns_(ops_.last - ops_.first) {
  const bool is_selected = !trace.device_windows.empty(), has_ops = ops_.first != ops_.last;
  const int64_t start_ns = is_selected ? trace.device_windows[device].time.start_ns
                           : has_ops   ? trace.ops[ops_.first].start_ns
                                       : 0;
  for (uint32_t i = 0; i < trace.ops.FactsCount(); ++i) is_kernel_.push_back(IsKernelLike(trace.ops.FactsAt(i).kind));
  const Sweep sweep = SweepAll(start_ns, threads);
  busy_ = sweep.busy;
  last_ended_ = sweep.last_ended;
  if (!has_window_) return;
  const int64_t end_ns = is_selected ? trace.device_windows[device].time.end_ns : sweep.ended_ns;
  tail_ = {sweep.ended_ns, end_ns};
  window_ns_ = end_ns - start_ns;
  if (is_throughout_) return;
  for (uint32_t i = ops_.first; i < ops_.last; ++i) {
    const int64_t idle_ns = IdleBefore(i), op_start_ns = trace.ops[i].start_ns;
    if (idle_ns != 0) AddPauses(op_start_ns - idle_ns, op_start_ns);
  }
  AddPauses(tail_.start_ns, tail_.end_ns);
  for (const Interval& pause : pauses_) window_ns_ -= pause.DurationNs();
}

// All that is known stays out of memory in the loop: about whose start and end is the next to be largest nothing can be
// foreseen, so that it has no branches but for what is rare.
GapList::Sweep GapList::GoOver(Trace::Slice slice, const Sweep& before, LongIdle* long_idle_ns) {
  const PackedOps& ops = trace_.ops;
  const uint8_t* const is_kernel = is_kernel_.data();
  uint32_t* idle_ns_of = idle_ns_.data() + (slice.first - ops_.first);
  int64_t ended_ns = before.ended_ns;
  BusyTime any = before.busy.any, kernels = before.busy.kernels;
  const PackedOps::Item* const items = ops.items().data();
  const bool is_first = before.last_ended == kNone && slice.first != slice.last;
  const PackedOps::Item* last_ended = is_first ? items + slice.first : nullptr;
  for (const PackedOps::Item *item = items + slice.first, *end = items + slice.last; item != end; ++item) {
    PrefetchForReading(item);
    const int64_t start_ns = item->start_ns(), end_ns = ops.EndNs(*item);
    const int64_t idle_ns = start_ns > ended_ns ? start_ns - ended_ns : 0;
    *idle_ns_of++ = static_cast<uint32_t>(idle_ns);
    if (idle_ns >= kLong) [[unlikely]] {
      idle_ns_of[-1] = kLong;
      long_idle_ns->emplace_back(static_cast<uint32_t>(item - items), idle_ns);
    }
    last_ended = end_ns > ended_ns ? item : last_ended;
    ended_ns = std::max(ended_ns, end_ns);
    any.Add(start_ns, end_ns);
    if (is_kernel[item->facts] != 0) kernels.Add(start_ns, end_ns);
  }
  return {ended_ns, last_ended == nullptr ? before.last_ended : static_cast<uint32_t>(last_ended - items), {any, kernels}};
}

// Pieces are gone over side by side as if nothing had run before them. What did changes the first operations of a piece,
// until one of them ends after all that; those are gone over again.
GapList::Sweep GapList::SweepAll(int64_t start_ns, size_t threads) {
  Sweep sweep{start_ns, kNone, {}};
  if (threads <= 1 || pieces_ == 1) {
    return GoOver(ops_, sweep, &long_idle_ns_);
  }
  std::vector<Sweep> ends(pieces_);
  std::vector<LongIdle> long_idle_ns(pieces_);
  const auto begin_of = [&](size_t piece) { return Sweep{trace_.ops[PieceBegin(piece)].start_ns, kNone, {}}; };
  ForEachSideBySide(pieces_, threads, [&](size_t piece) {
    ends[piece] = GoOver(Piece(piece), begin_of(piece), &long_idle_ns[piece]);
  });
  for (size_t piece = 0; piece < pieces_; ++piece) {
    Sweep of_piece = begin_of(piece);
    LongIdle unused;
    uint32_t i = PieceBegin(piece);
    for (; i < PieceBegin(piece + 1) && (i == PieceBegin(piece) || !sweep.IsAt(of_piece)); ++i) {
      of_piece = GoOver({i, i + 1}, of_piece, &unused);
      sweep = GoOver({i, i + 1}, sweep, &long_idle_ns_);
    }
    for (const auto& entry : long_idle_ns[piece]) {
      if (entry.first >= i) long_idle_ns_.push_back(entry);
    }
    GoOn(of_piece, ends[piece], &sweep);
  }
  return sweep;
}

// Both are at the same time after some operations of a piece: takes over what the rest of it brought.
void GapList::GoOn(const Sweep& from, const Sweep& to, Sweep* sweep) {
  const auto add = [](const BusyTime& before, const BusyTime& after, BusyTime* busy) {
    if (after.busy_ns() == before.busy_ns() && after.end_ns() == before.end_ns()) return;
    *busy = BusyTime(busy->busy_ns() + after.busy_ns() - before.busy_ns(), after.end_ns());
  };
  add(from.busy.any, to.busy.any, &sweep->busy.any);
  add(from.busy.kernels, to.busy.kernels, &sweep->busy.kernels);
  if (to.last_ended != from.last_ended) sweep->last_ended = to.last_ended;
  if (to.ended_ns != from.ended_ns) sweep->ended_ns = to.ended_ns;
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
  return std::lower_bound(long_idle_ns_.begin(), long_idle_ns_.end(), std::pair(op, int64_t{0}))->second;
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
    if (idle_ns_[i - ops_.first] != 0) break;  // what ran before it had ended
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
