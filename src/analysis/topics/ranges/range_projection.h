// GPU time of NVTX ranges: of the operations whose launching call was made within the range by its thread. The work of
// a CUDA graph that was launched outside of any range belongs to the range that its node was made in.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "analysis/facts/operations/op_facts.h"
#include "analysis/facts/operations/range_facts.h"
#include "analysis/facts/time/interval_set.h"
#include "gprof/analysis.h"
#include "gprof/trace.h"

namespace gprof {

class RangeProjection {
 public:
  struct OfPath {
    BusyTime busy;  // overlapping operations count once; those of several GPUs add up
    int64_t kernels = 0;
    uint32_t device = kNone;  // of the operation added last
    bool is_around = false;   // while it waits for what `around_` has
  };

  explicit RangeProjection(const AnalysisInput& input);
  // Zero for paths that launched nothing.
  OfPath Of(NameId path) const;

 private:
  // [first, last) of the operations: of one device, and launched in the same range or in none; then of one graph node.
  struct Run {
    uint32_t range = kNone, device = kNone;
    uint32_t node = kNone;  // of a graph, that of the first operation
    uint32_t first = 0, last = 0;
    int64_t start_ns = 0;  // of the first
    BusyTime busy;
    int64_t kernels = 0;
  };

  void FindStartEndRanges(const RangeFacts& traits);
  void AddOperations();
  void AddRun(Run run);
  void AddNested(const Run& run);
  void StartAround(uint32_t range, const Run& run);
  void AddAround();
  void AddWithOthers(const Run& run);
  void AddBusy(const Run& run, BusyTime* busy) const;
  void AddTo(uint32_t slot, const Run& run);
  uint32_t SlotOf(NameId path);
  uint32_t SlotOfTraits(uint32_t traits);
  void AddToRanges(uint32_t range, const Run& run);

  const Trace& trace_;
  const OpFacts& ops_;
  std::vector<uint32_t> slot_of_path_;    // by NameId, kNone where nothing was launched
  std::vector<uint32_t> slot_of_traits_;  // by the traits of ranges, kNone likewise
  std::vector<OfPath> slots_;
  Run around_;  // runs in a row in ranges with the same parent, which is `range`; kNone: none
  // Start/end ranges need not nest, so calls do not name them: launching call → paths of those open on its thread.
  std::unordered_map<uint32_t, std::vector<NameId>> start_end_paths_;
};

}  // namespace gprof
