// Sequences of kernels, copies and fills that a stream runs again and again: what a CUDA graph could launch at once.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/gap_list.h"
#include "gprof/analysis.h"

namespace gprof {

// A gap before an operation can be laid to launching only where it is short (2.6 us a launch on an H200,
// reference/peers.md 4a); a longer one has another reason.
inline constexpr int64_t kLaunchGapAtMostNs = 50'000;

// All runs of one repeated sequence, wherever it begins and in whatever stream.
struct Chain {
  std::vector<uint32_t> operations;  // of one repetition: the first few, after the longest gap
  uint32_t stream = kNone;           // of the first run
  uint32_t period = 0, kernels = 0;  // operations and kernels of a repetition
  int64_t repetitions = 0, runs = 0;
  int64_t busy_ns = 0;               // sum of the durations
  int64_t idle_ns = 0;               // of the device before operations within a repetition, where at most 50 us
};

// How long the device of an operation was idle before it, 0 where the gap was not recorded to its end.
class GapsBefore {
 public:
  explicit GapsBefore(const AnalysisInput& input);
  int64_t Of(uint32_t op);
  // For loops over operations from `first` to `last`, in the order of the trace: calls loop(gap_before), where
  // gap_before(op) is Of(op), as a rule without a call.
  template <class F>
  void ForLoop(uint32_t first, uint32_t last, F&& loop) {
    const uint32_t* const short_ns = ShortOf(first, last);
    if (short_ns == nullptr) return loop([this](uint32_t op) { return Of(op); });
    loop([this, short_ns](uint32_t op) { return short_ns[op] != GapList::kLong ? short_ns[op] : Of(op); });
  }

 private:
  // By operation of the trace what Of() says of it, or GapList::kLong, for which it has to be asked. Null where it has to
  // be asked for others as well.
  const uint32_t* ShortOf(uint32_t first, uint32_t last);
  void FindDevice(uint32_t op);

  const Trace& trace_;
  std::vector<const GapList*> of_device_;
  // Of the operation asked for before: as a rule the next one is of the same device.
  const GapList* last_ = nullptr;
};

// Those with the most idle time first. Operations of graphs are in none: they are launched at once already.
std::vector<Chain> FindChains(const AnalysisInput& input);

}  // namespace gprof
