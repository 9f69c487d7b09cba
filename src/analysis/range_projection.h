// GPU time of NVTX ranges: of the operations whose launching call was made within the range by its thread. The work of
// a CUDA graph that was launched outside of any range belongs to the range that its node was made in.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "analysis/gaps.h"
#include "gprof/analysis.h"
#include "gprof/trace.h"

namespace gprof {

class RangeProjection {
 public:
  struct OfPath {
    BusyTime busy;        // overlapping operations count once; those of several GPUs add up
    int64_t kernels = 0;
    uint32_t device = kNone;  // of the operation added last
  };

  explicit RangeProjection(const AnalysisInput& input);
  // Zero for paths that launched nothing.
  OfPath Of(NameId path) const;

 private:
  void FindStartEndRanges(const Trace& trace);
  uint32_t SlotOf(NameId path);
  // What counts of an operation.
  struct Work {
    int64_t start_ns, end_ns;
    uint32_t device;
    bool is_kernel;
  };
  void Add(uint32_t slot, const Work& work) {
    OfPath& of_path = slots_[slot];
    if (of_path.device != work.device) of_path.busy.StartOver(), of_path.device = work.device;
    of_path.busy.Add(work.start_ns, work.end_ns);
    of_path.kernels += work.is_kernel;
  }
  // Of the range and those around it.
  const std::vector<uint32_t>& SlotsOf(const Trace& trace, uint32_t range);

  std::vector<uint32_t> slot_of_path_;  // by NameId, kNone where nothing was launched
  std::vector<OfPath> slots_;
  struct Slots {
    uint32_t range = kNone;
    std::vector<uint32_t> list;
  };
  std::array<Slots, 16> recent_;         // the innermost ranges of the operations added last, by their number
  // Start/end ranges need not nest, so calls do not name them: launching call → paths of those open on its thread.
  std::unordered_map<uint32_t, std::vector<NameId>> start_end_paths_;
};

}  // namespace gprof
