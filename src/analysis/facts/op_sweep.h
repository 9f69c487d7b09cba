// One sweep over all operations, each read once with the call that launched it: what those with the same facts add up
// to, when each was launched, how long its device was idle before it, and whether for a plain cause.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "analysis/idle/gaps.h"
#include "analysis/idle/interruptions.h"
#include "gprof/trace.h"

namespace gprof {

// The idle time of a device, as far as it follows from its operations and their calls.
struct DeviceSweep {
  // What is known once some operations have gone by.
  struct State {
    int64_t ended_ns = 0;         // all of them, or when the window began
    uint32_t last_ended = kNone;  // the first of those that ended last; kNone without any
    int64_t busy_ns = 0;
    BusyTime kernels;
    bool IsAt(const State& other) const {
      return ended_ns == other.ended_ns && kernels.end_ns() == other.kernels.end_ns();
    }
  };
  using LongIdle = std::vector<std::pair<uint32_t, int64_t>>;  // by operation

  Trace::Slice ops;
  int64_t start_ns = 0;  // of the window
  State end;
  LongIdle long_idle_ns;  // of those that have kLong
  // A bit for each operation. Nearly all gaps are `queue` or `launch` from end to end: for these a bit says which of
  // the two. It is that of the gap before where the operation ended none, so that runs are long.
  std::vector<uint64_t> launches;
  std::vector<uint64_t> others;  // there is another gap
  std::vector<uint64_t> waits;   // their stream was told to wait for an event; empty where none was
};

class OpSweep {
 public:
  OpSweep(const Trace& trace, const Holdups& holdups, size_t threads);

  static constexpr uint32_t kLong = UINT32_MAX;  // 4.3 s
  static constexpr uint32_t kFar = UINT32_MAX;   // 4.3 s and more, or launched after it started: its call knows

  template <class T>
  using Unwritten = std::vector<T, packed_detail::Unwritten<T>>;

  // Of the operations with the same facts, and what these facts say.
  struct Alike {
    int64_t time_ns = 0, without_time = 0;  // what is missing to 1 ns for each
    int64_t start_ns = INT64_MAX, end_ns = INT64_MIN;
    uint32_t count = 0, first = kNone;
    bool is_kernel = false, is_transfer = false, is_of_graph = false;
    bool is_listed = false;  // there is more to do than to add up
    Holdups::OfOp may;
  };
  // GPU time on a device that calls with the same facts launched.
  struct Launched {
    uint32_t call_facts, device;  // kNone: none
    int64_t time_ns;
  };
  // What some operations in a row add up to.
  struct Sums {
    explicit Sums(const Trace& trace, const Holdups& holdups);
    std::vector<Alike> alike;
    std::vector<Launched> launched;  // what there is: where many devices are, each call is about few of them
    std::vector<uint32_t> transfers, graph_ops;
    bool has_inner_calls = false;
  };

  std::vector<Sums> sums;  // in order of the operations
  std::vector<DeviceSweep> devices;
  Unwritten<uint32_t> launched_before_ns;  // how long before its start an operation was launched, or kFar
  Unwritten<uint32_t> idle_ns;             // of its device before each operation; kLong: in long_idle_ns
  std::vector<uint8_t> has_op;             // by call

 private:
  // Operations of one device in a row. `device` is null for those of none.
  struct Piece {
    DeviceSweep* device;
    Trace::Slice ops;
    DeviceSweep::State begin, end;
    DeviceSweep::LongIdle long_idle_ns;
  };
  struct Call {
    int64_t start_ns, end_ns;
    uint32_t index, facts;
  };

  std::vector<Piece> Pieces(bool is_parallel);
  void AddPieces(DeviceSweep* device, Trace::Slice ops, size_t most_ops, std::vector<Piece>* pieces) const;
  void GoOver(Piece* piece, Sums* of_piece);
  uint32_t FirstToEnd(const Piece& piece, int64_t ended_ns) const;
  void CountBusy(Piece* piece) const;
  void Mend(std::span<const Piece> pieces, DeviceSweep* device);
  void Step(uint32_t op, DeviceSweep::State* state, int64_t* idle_ns) const;
  void SetGap(uint32_t op, int64_t gap_ns, PlainGaps* plain, DeviceSweep* device);
  Call OutermostOf(uint32_t api) const;
  void AddBusyBeforeWindow(DeviceSweep* device) const;
  void MarkAll(DeviceSweep* device) const;

  const Trace& trace_;
  const Holdups& holdups_;
};

}  // namespace gprof
