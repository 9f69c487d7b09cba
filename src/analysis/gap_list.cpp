#include "analysis/gap_list.h"

namespace gprof {

GapList::GapList(const Trace& trace, const RecordedTime& recorded, uint32_t device)
    : ops_(trace.device_ops[device]), device_(device) {
  const bool is_throughout = recorded.IsThroughout(device);
  if (is_throughout) gaps_.reserve(ops_.last - ops_.first + 1);  // what is not used is never touched
  const auto add = [&](const Gap& gap) {
    if (is_throughout) {
      gaps_.push_back({gap.start_ns, gap.end_ns, gap.before, gap.after});
    } else {
      cut_gaps_.push_back(gap);
    }
  };
  window_ns_ = ForEachGap(trace, recorded, device, add, [](uint32_t) {});
}

}  // namespace gprof
