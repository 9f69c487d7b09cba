// What each nanosecond of an engine's steps was: its kernels, its copies, or host code with no work of the step on a
// GPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analysis/facts/serving/served_requests.h"
#include "gprof/trace.h"

namespace gprof {

class AnalysisInput;

// Time of a step. Copies are those with no kernel beside them.
struct StepSplit {
  int64_t kernel_ns = 0, copy_ns = 0, host_ns = 0;
  int64_t Sum() const { return kernel_ns + copy_ns + host_ns; }
  StepSplit& operator+=(const StepSplit& more) {
    kernel_ns += more.kernel_ns, copy_ns += more.copy_ns, host_ns += more.host_ns;
    return *this;
  }
};

// Where steps overlap, as with asynchronous scheduling, a nanosecond belongs to one of them: to the step that the GPU
// works for, to the earlier one where it works for two, and else to the step that the host began last.
class EngineTime {
 public:
  EngineTime(const AnalysisInput& input, const ServedRequests& served);

  // Of the step, within the interval.
  StepSplit Of(uint32_t step, const Interval& time) const;
  // The same of all of it.
  StepSplit Of(uint32_t step) const { return Of(step, {INT64_MIN, INT64_MAX}); }
  // When the step and the GPU work that it launched had ended.
  int64_t EndOf(uint32_t step) const { return ends_ns_[step]; }
  // GPU work that the step launched.
  int64_t Kernels(uint32_t step) const { return launched_[step].kernels; }
  int64_t Graphs(uint32_t step) const { return launched_[step].graphs; }  // launches
  // The first operation of the step on a GPU; kNone for none.
  uint32_t FirstOp(uint32_t step) const { return launched_[step].first_op; }
  // Calls f(step, split) for the steps of the process that have some of the interval, in order.
  template <class F>
  void ForEachStep(uint32_t process, const Interval& time, F&& f) const {
    for (const Extent* extent = FirstExtent(process, time.start_ns); extent != nullptr; extent = Next(extent)) {
      if (extent->time.start_ns >= time.end_ns) return;
      const StepSplit split = Of(extent->step, time);
      if (split.Sum() > 0) f(extent->step, split);
    }
  }
  // GPU time of what no step launched, within the interval, and which process had most of it in all (kNone: none).
  int64_t OtherWorkNs(const Interval& time) const;
  uint32_t OtherProcess() const { return other_process_; }
  // The parts of the interval in which no step had the GPU busy, in order.
  std::vector<Interval> HostIntervals(uint32_t process, const Interval& time) const;

 private:
  enum class What : uint8_t { kKernel, kCopy, kHost };
  struct Piece {
    Interval time;
    What what;
    StepSplit before;  // in the pieces before it
  };
  struct Launched {
    int64_t kernels = 0, graphs = 0, first_ns = INT64_MAX;
    uint32_t first_op = kNone;
    std::vector<Interval> kernel_times, copy_times;  // by start
  };
  struct Extent {
    uint32_t process, step;
    Interval time;
    int64_t latest_end_ns;  // of this and all before it of the process
  };
  struct Edge;

  void ReadOperations(const AnalysisInput& input, const ServedRequests& served);
  void JoinOtherWork(std::vector<Interval> work);
  void MakePieces(uint32_t process, const ServedRequests& served);
  void AddPiece(uint32_t step, What what, const Interval& time);
  void MakeExtents(const ServedRequests& served);
  const Extent* FirstExtent(uint32_t process, int64_t time_ns) const;
  const Extent* Next(const Extent* extent) const;
  StepSplit Before(uint32_t step, int64_t time_ns) const;

  std::vector<int64_t> ends_ns_;            // by step
  std::vector<Launched> launched_;          // by step
  std::vector<std::vector<Piece>> pieces_;  // by step
  std::vector<Extent> extents_;             // by process, then start
  std::vector<Interval> other_work_;        // in order, joined where they touch
  uint32_t other_process_ = kNone;
};

}  // namespace gprof
