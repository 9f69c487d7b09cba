// When a device was busy, and the gaps between: found once and gone over by many.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "analysis/facts/gaps/gaps.h"
#include "analysis/facts/operations/operations.h"
#include "analysis/facts/time/interval_set.h"

namespace gprof {

// Keeps how long the device had been idle by the start of each operation: all else of a gap follows from that.
class GapList {
 public:
  GapList(const Trace& trace, const RecordedTime& recorded, uint32_t device);

  // From the first to the last operation, or of the selected time, less what was not recorded.
  int64_t window_ns() const { return window_ns_; }
  Interval window() const;  // the same with what was not recorded; of a device that has a window (HasWindow)
  int64_t start_ns() const { return start_ns_; }  // of the window
  int64_t end_ns() const { return std::max(tail_.start_ns, tail_.end_ns); }
  int64_t idle_ns() const { return idle_ns_; }  // within it
  // Busy time with anything, and with kernels.
  struct Busy {
    BusyTime any, kernels;
  };
  const Busy& busy() const { return busy_; }
  // Within the window and not recorded, in order.
  const std::vector<Interval>& pauses() const { return pauses_; }
  // The first of the operations that ended last; kNone without any.
  uint32_t last_ended() const { return last_ended_; }

  // The device was idle for that long before the operation, whether or not that was recorded.
  int64_t IdleBefore(uint32_t op) const {
    const int64_t* const until_ns = idle_until_ns_.data() + (op - ops_.first);
    return until_ns[1] - until_ns[0];
  }
  // The length of the gap that ended with the operation; 0 for none, and where it was not recorded to its end.
  int64_t GapBefore(uint32_t op) const {
    const int64_t idle_ns = IdleBefore(op);
    return is_throughout_ || idle_ns == 0 ? idle_ns : RecordedGapBefore(op, idle_ns);
  }
  // The first of those that ended last before the gap; kNone where none is in the selection.
  uint32_t OpBefore(const Gap& gap) const;
  // The device was idle so long before that time, from the beginning of the window, whether or not it was recorded.
  // `next`: the first operation that starts later, counted from the first of the device.
  int64_t IdleUntil(int64_t time_ns, size_t next) const;
  const Trace::Slice& ops() const { return ops_; }
  bool Has(uint32_t op) const { return op >= ops_.first && op < ops_.last; }

  uint32_t device() const { return device_; }
  bool is_throughout() const { return is_throughout_; }
  bool has_window() const { return has_window_; }

  // The gap that the operation ended, where the device was recorded throughout.
  Gap GapEndedBy(uint32_t op) const {
    const int64_t end_ns = Operation(trace_.ops, op).start_ns();
    return {end_ns - IdleBefore(op), end_ns, op, false, false, device_};
  }
  // Calls f(gap) for every gap that the operation ended, in order: none, or more than one where recording paused.
  template <class F>
  void ForEachBefore(uint32_t op, F&& f) const {
    const int64_t idle_ns = has_window_ ? IdleBefore(op) : 0, end_ns = trace_.ops[op].start_ns;
    if (idle_ns != 0) Emit(end_ns - idle_ns, end_ns, op, f);
  }
  // The same for those after the last operation, of the last piece, and none for the others.
  template <class F>
  void ForEachAtEndOf(size_t piece, F&& f) const {
    if (piece + 1 == pieces_ && tail_.start_ns < tail_.end_ns) Emit(tail_.start_ns, tail_.end_ns, kNone, f);
  }

  // Pieces follow from the number of operations alone, so that results are the same on any number of threads.
  size_t pieces() const { return pieces_; }
  Trace::Slice Piece(size_t piece) const { return {PieceBegin(piece), PieceBegin(piece + 1)}; }

 private:
  uint32_t PieceBegin(size_t piece) const {
    if (piece == pieces_) return ops_.last;
    return ops_.first + static_cast<uint32_t>(uint64_t{ops_.last - ops_.first} * piece / pieces_);
  }

  template <class F>
  void Emit(int64_t start_ns, int64_t end_ns, uint32_t after, F&& f) const {
    if (is_throughout_) return f(Gap{start_ns, end_ns, after, false, false, device_});
    recorded_.ForEachOfDevice(device_, start_ns, end_ns, [&](int64_t from_ns, int64_t to_ns) {
      f(Gap{from_ns, to_ns, after, from_ns != start_ns, to_ns != end_ns, device_});
    });
  }

  void FindIdle(int64_t start_ns);
  void AddPauses(int64_t start_ns, int64_t end_ns);
  int64_t RecordedGapBefore(uint32_t op, int64_t idle_ns) const;

  const Trace& trace_;
  const RecordedTime& recorded_;
  std::vector<int64_t> idle_until_ns_;  // before the gap that each operation ended, and after the last of these
  uint32_t last_ended_ = kNone;
  Trace::Slice ops_;
  uint32_t device_;
  bool is_throughout_, has_window_;
  size_t pieces_;
  Interval tail_;  // after the last one, where more time is selected
  std::vector<Interval> pauses_;
  Busy busy_;
  int64_t start_ns_ = 0;
  int64_t window_ns_ = 0, idle_ns_ = 0;
};

class IdleWithin {
 public:
  IdleWithin(const Trace& trace, const GapList& gaps);

  // Idle time of the device in [start_ns, end_ns). Quick for intervals that lie near the one asked for before.
  int64_t IdleNs(int64_t start_ns, int64_t end_ns);

 private:
  size_t FirstAfter(int64_t time_ns, size_t hint) const;
  int64_t PausedUntil(int64_t time_ns) const;

  const Trace& trace_;
  const GapList& gaps_;
  std::vector<int64_t> paused_ns_;  // time of the pauses before each, and of all
  size_t next_ = 0;                 // the first operation that starts after the start asked for before
};

}  // namespace gprof
