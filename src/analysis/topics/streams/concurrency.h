// How many streams of a GPU ran at the same time, and what ran beside what.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <queue>
#include <vector>

#include "analysis/facts/operations/op_facts.h"
#include "analysis/facts/time/recorded_time.h"
#include "gprof/analysis.h"

namespace gprof {

// Time by the number of streams that had an operation running.
struct Concurrency {
  std::vector<int64_t> level_ns;       // [0] is idle time
  int64_t kernel_overlap_ns = 0;       // kernels of two or more streams
  int64_t copy_compute_ns = 0;         // a kernel and a copy
  int64_t two_way_ns = 0;              // a copy to the device and one to the host
  int64_t kernel_ns = 0, copy_ns = 0;  // any kernel, any copy

  int64_t WindowNs() const;
  int64_t BusyNs() const;
  int64_t OverlapNs() const;
  size_t MaxLevel() const { return level_ns.empty() ? 0 : level_ns.size() - 1; }
  void Add(const Concurrency& other);
};

// Operations of the device took as much time together as it was busy: none ran beside another, so that the sums by
// traits say all. False: some did, or it is not that simple.
bool RanOneByOne(const AnalysisInput& input, uint32_t device);

// At best kernels and the copies of each direction run side by side, so that the longest of them is what remains.
int64_t GainOfOverlap(const AnalysisInput& input);

// Moves along the operations of one device after the other and adds up the time in each state.
class ConcurrencySweep {
 public:
  explicit ConcurrencySweep(const AnalysisInput& input);
  Concurrency Run(uint32_t device);
  // By stream: time in which it and another one had an operation running, on the devices seen so far.
  const std::vector<int64_t>& shared_ns() const { return shared_ns_; }
  // By stream: time in which it had one running there.
  const std::vector<int64_t>& busy_ns() const { return busy_ns_; }

 private:
  struct Running {
    int ops = 0, kernels = 0;
    int64_t from_ns = 0, shared_from_ns = 0;
  };
  enum Sort : uint8_t { kKernel, kToDevice, kToHost, kOtherCopy, kNeither, kSorts };
  // All that counts of an operation.
  struct Part {
    uint32_t stream = 0;
    Sort sort = kNeither;
  };
  struct End {
    int64_t time_ns;
    uint32_t kind_number;
    bool operator<(const End& other) const { return time_ns > other.time_ns; }  // the first one is on top
  };
  // What goes on, as bits: the time in each of their combinations is added up.
  static constexpr size_t kKernels = 1, kCopies = 2, kSeveralKernels = 4, kTwoWay = 8, kStates = 16;

  Part PartOf(const GpuOp& op) const;
  bool AddSumsAlone(uint32_t device);
  void AddAlone(const Part& part, int64_t end_ns);
  void EndUntil(int64_t time_ns);
  void AdvanceTo(int64_t time_ns);
  void Begin(const Part& part);
  void Finish(const Part& part);
  size_t State() const;
  Concurrency TakeSums();

  const AnalysisInput& input_;
  const Trace& trace_;
  const SharedFacts& shared_;
  std::vector<Part> parts_;  // by kind_number() of operations
  std::vector<Running> running_;
  std::vector<int64_t> shared_ns_, busy_ns_;
  std::priority_queue<End> ends_;
  std::vector<int64_t> level_ns_;  // by number of streams, as far as there were as many
  std::array<int64_t, kStates> state_ns_{};
  int64_t now_ns_ = 0;
  int64_t several_ns_ = 0;  // time with two or more streams so far
  size_t active_streams_ = 0, kernel_streams_ = 0;
  std::array<int, kSorts> running_of_{};
};

}  // namespace gprof
