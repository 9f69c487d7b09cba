// When a device was busy, and the gaps between: found once and gone over by many.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "analysis/gaps.h"

namespace gprof {

// Kept is how long the device was idle before each operation, 4 bytes each: all else of a gap follows from that.
class GapList {
 public:
  GapList(const Trace& trace, const RecordedTime& recorded, uint32_t device, size_t threads = 1);

  // From the first to the last operation, or of the selected time, less what was not recorded.
  int64_t window_ns() const { return window_ns_; }
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
    const uint32_t ns = idle_ns_[op - ops_.first];
    return ns != kLong ? ns : LongIdleBefore(op);
  }
  // What IdleBefore() says of operations in a row, added up.
  int64_t IdleBeforeAll(uint32_t first, uint32_t last) const {
    int64_t sum_ns = 0;
    if (!long_idle_ns_.empty()) {
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
  static constexpr uint32_t kLong = UINT32_MAX;  // 4.3 s
  std::span<const uint32_t> ShortIdleBefore(uint32_t first, uint32_t last) const {
    return std::span<const uint32_t>(idle_ns_).subspan(first - ops_.first, last - first);
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
    return ops_.first + static_cast<uint32_t>(uint64_t{ops_.last - ops_.first} * piece / pieces_);
  }

  template <class F>
  void Emit(int64_t start_ns, int64_t end_ns, uint32_t after, F&& f) const {
    if (is_throughout_) return f(Gap{start_ns, end_ns, after, false, false, device_});
    recorded_.ForEachOfDevice(device_, start_ns, end_ns, [&](int64_t from_ns, int64_t to_ns) {
      f(Gap{from_ns, to_ns, after, from_ns != start_ns, to_ns != end_ns, device_});
    });
  }

  // What is known once some operations have gone by.
  struct Sweep {
    int64_t ended_ns;               // all of them, or when the window began
    uint32_t last_ended = kNone;
    Busy busy;
    bool IsAt(const Sweep& other) const {
      return ended_ns == other.ended_ns && busy.any.end_ns() == other.busy.any.end_ns() &&
             busy.kernels.end_ns() == other.busy.kernels.end_ns();
    }
  };
  using LongIdle = std::vector<std::pair<uint32_t, int64_t>>;  // by operation

  Sweep SweepAll(int64_t start_ns, size_t threads);
  Sweep GoOver(Trace::Slice ops, const Sweep& before, LongIdle* long_idle_ns);
  static void GoOn(const Sweep& from, const Sweep& to, Sweep* sweep);
  void AddPauses(int64_t start_ns, int64_t end_ns);
  int64_t LongIdleBefore(uint32_t op) const;
  int64_t RecordedGapBefore(uint32_t op, int64_t idle_ns) const;

  const Trace& trace_;
  const RecordedTime& recorded_;
  Trace::Slice ops_;
  uint32_t device_;
  bool is_throughout_, has_window_;
  size_t pieces_;
  std::vector<uint32_t, packed_detail::Unwritten<uint32_t>> idle_ns_;  // before each operation, kLong: in long_idle_ns_
  LongIdle long_idle_ns_;
  std::vector<uint8_t> is_kernel_;                          // by the facts of operations
  Interval tail_;                                           // after the last one, where more time is selected
  std::vector<Interval> pauses_;
  Busy busy_;
  uint32_t last_ended_ = kNone;
  int64_t window_ns_ = 0;
};

}  // namespace gprof
