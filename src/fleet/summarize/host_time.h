// Where the time of a rank without GPU work went: that of the thread which does its steps, by the causes that idle time
// of GPUs has, and by range, call and line.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "analysis/causes/step_times.h"
#include "analysis/result/idle_causes.h"
#include "fleet/rank/rank_summary.h"
#include "gprof/analysis.h"

namespace gprof {

// A range in which a thread takes part in a collective that no call of MPI stands for: of gloo, oneCCL, NCCL or RCCL,
// as torch.profiler and NVTX name them.
bool IsCollectiveRange(std::string_view name);

class HostTime {
 public:
  // `pid` is that of the rank.
  HostTime(const AnalysisInput& input, uint32_t pid);

  // Nothing is known of a rank without ranges, MPI calls and samples.
  bool is_known() const { return thread_ != kNone; }
  uint32_t thread() const { return thread_; }
  // From the first step to the last, where there are some; else that of the process.
  const Interval& window() const { return window_; }
  const CauseSplit& split() const { return split_; }  // of the window
  int64_t cpu_ns() const { return cpu_ns_; }          // of the process, by samples; -1: not known
  std::vector<IdlePlace> Places() const;

  // Fills in the parts of steps, which come in order and do not overlap.
  void AddTo(std::vector<Iteration>* steps) const;
  // The window cut into so many slices.
  std::vector<Iteration> Slices(int64_t count) const;

 private:
  // The thread was in one range and did one thing.
  struct Piece {
    Interval time;
    Cause cause;
    uint32_t range;    // the innermost one
    uint32_t os_call;  // of the cause os
  };

  void FindThread(uint32_t pid);
  void FindWindow();
  void AddPieces();
  void AddPiece(Interval time, uint32_t range, bool is_collective);
  void AddCpuTime(uint32_t pid);
  void AddSamples(std::vector<IdlePlace>* places) const;

  const AnalysisInput& input_;
  const Trace& trace_;
  uint32_t thread_ = kNone;
  Interval window_;
  std::vector<Piece> pieces_;  // in order, without gaps
  CauseSplit split_;
  int64_t cpu_ns_ = -1;
};

}  // namespace gprof
