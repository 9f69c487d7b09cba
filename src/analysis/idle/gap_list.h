// When a device was busy, and the gaps between: found once and gone over by many.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "analysis/facts/op_facts.h"
#include "analysis/idle/gaps.h"

namespace gprof {

// What OpFacts keep is how long the device was idle before each operation, 4 bytes each: all else of a gap follows from
// that.
class GapList {
 public:
  GapList(const Trace& trace, const RecordedTime& recorded, const OpFacts& ops, uint32_t device);

  // From the first to the last operation, or of the selected time, less what was not recorded.
  int64_t window_ns() const { return window_ns_; }
  int64_t start_ns() const { return sweep_.start_ns; }  // of the window
  int64_t end_ns() const { return std::max(tail_.start_ns, tail_.end_ns); }
  // Busy time with anything, and with kernels.
  struct Busy {
    BusyTime any, kernels;
  };
  const Busy& busy() const { return busy_; }
  // Within the window and not recorded, in order.
  const std::vector<Interval>& pauses() const { return pauses_; }
  // The first of the operations that ended last; kNone without any.
  uint32_t last_ended() const { return sweep_.end.last_ended; }

  // The device was idle for that long before the operation, whether or not that was recorded.
  int64_t IdleBefore(uint32_t op) const {
    const uint32_t ns = idle_ns_[op];
    return ns != kLong ? ns : LongIdleBefore(op);
  }
  // What IdleBefore() says of operations in a row, added up.
  int64_t IdleBeforeAll(uint32_t first, uint32_t last) const {
    int64_t sum_ns = 0;
    if (!sweep_.long_idle_ns.empty()) {
      for (uint32_t op = first; op < last; ++op) sum_ns += IdleBefore(op);
      return sum_ns;
    }
    for (const uint32_t ns : ShortIdleBefore(first, last)) sum_ns += ns;
    return sum_ns;
  }
  // The length of the gap that ended with the operation; 0 for none, and where it was not recorded to its end.
  int64_t GapBefore(uint32_t op) const {
    const int64_t idle_ns = IdleBefore(op);
    return is_throughout_ || idle_ns == 0 ? idle_ns : RecordedGapBefore(op, idle_ns);
  }
  // The first of those that ended last before the gap; kNone where none is in the selection.
  uint32_t OpBefore(const Gap& gap) const;
  // The device was idle so long before that time, from the beginning of the window, whether or not it was recorded.
  // `next`: the first operation that starts later. `idle_ns`: the idle time before that operation, gap included.
  int64_t IdleUntil(int64_t time_ns, uint32_t next, int64_t idle_ns) const;
  const Trace::Slice& ops() const { return ops_; }
  bool Has(uint32_t op) const { return op >= ops_.first && op < ops_.last; }

  uint32_t device() const { return device_; }
  bool is_throughout() const { return is_throughout_; }
  bool has_window() const { return has_window_; }

  // For loops over operations in a row: what IdleBefore() says of each of them, kLong where that is longer.
  static constexpr uint32_t kLong = OpSweep::kLong;
  std::span<const uint32_t> ShortIdleBefore(uint32_t first, uint32_t last) const {
    return {idle_ns_ + first, last - first};
  }

  // Calls f(gap) for every gap that the operation ended, in order: none, or more than one where recording paused.
  template <class F>
  void ForEachBefore(uint32_t op, F&& f) const {
    const int64_t idle_ns = has_window_ ? IdleBefore(op) : 0, end_ns = trace_.ops[op].start_ns;
    if (idle_ns != 0) Emit(end_ns - idle_ns, end_ns, op, f);
  }
  // The same for those of which is_wanted() says so. It is asked for each of them, in order, and as a rule before the
  // operation is looked at, which takes longer than all else where few are wanted.
  template <class IsWanted, class F>
  void ForEachWantedBefore(uint32_t op, IsWanted&& is_wanted, F&& f) const {
    if (!is_throughout_) return ForEachBefore(op, [&](const Gap& gap) { is_wanted() ? f(gap) : void(); });
    if (has_window_ && idle_ns_[op] != 0 && is_wanted()) ForEachBefore(op, f);
  }
  // The same for those after the last operation, of the last piece, and none for the others.
  template <class F>
  void ForEachAtEndOf(size_t piece, F&& f) const {
    if (piece + 1 == pieces_ && tail_.start_ns < tail_.end_ns) Emit(tail_.start_ns, tail_.end_ns, kNone, f);
  }

  // Pieces follow from the number of operations alone, so that results are the same on any number of threads. Each
  // begins with a word of bits (DeviceSweep).
  size_t pieces() const { return pieces_; }
  Trace::Slice Piece(size_t piece) const { return {PieceBegin(piece), PieceBegin(piece + 1)}; }

 private:
  uint32_t PieceBegin(size_t piece) const {
    if (piece == pieces_) return ops_.last;
    return ops_.first + static_cast<uint32_t>(uint64_t{ops_.last - ops_.first} * piece / pieces_ / 64 * 64);
  }

  template <class F>
  void Emit(int64_t start_ns, int64_t end_ns, uint32_t after, F&& f) const {
    if (is_throughout_) return f(Gap{start_ns, end_ns, after, false, false, device_});
    recorded_.ForEachOfDevice(device_, start_ns, end_ns, [&](int64_t from_ns, int64_t to_ns) {
      f(Gap{from_ns, to_ns, after, from_ns != start_ns, to_ns != end_ns, device_});
    });
  }

  void AddPauses(int64_t start_ns, int64_t end_ns);
  int64_t LongIdleBefore(uint32_t op) const;
  int64_t RecordedGapBefore(uint32_t op, int64_t idle_ns) const;

  const Trace& trace_;
  const RecordedTime& recorded_;
  const DeviceSweep& sweep_;
  const uint32_t* idle_ns_;  // before each operation of the trace, kLong: in sweep_
  Trace::Slice ops_;
  uint32_t device_;
  bool is_throughout_, has_window_;
  size_t pieces_;
  Interval tail_;  // after the last one, where more time is selected
  std::vector<Interval> pauses_;
  Busy busy_;
  int64_t window_ns_ = 0;
};

}  // namespace gprof
