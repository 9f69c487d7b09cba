#include "analysis/steps/step_windows.h"

#include <algorithm>

#include "analysis/steps/step_times.h"

namespace gprof {

StepWindows::StepWindows(const AnalysisInput& input, const std::string& wanted) {
  const Trace& trace = input.trace();
  const std::optional<StepChoice> choice = FindStep(input, wanted);
  if (!choice) return;
  const std::optional<Interval> steady = SteadyTimeOf(trace, *choice);
  if (!steady) return;
  process_ = trace.threads[choice->thread].process;
  for (const uint32_t index : choice->ranges) {
    const NvtxRange range = trace.ranges[index];
    if (range.start_ns < steady->start_ns) continue;
    windows_.push_back({range.start_ns, range.end_ns});
    total_ns_ += range.DurationNs();
  }
}

bool StepWindows::Contains(uint32_t process, int64_t time_ns) const {
  if (process != process_) return false;
  const auto after = std::upper_bound(windows_.begin(), windows_.end(), time_ns,
                                      [](int64_t ns, const Interval& window) { return ns < window.start_ns; });
  return after != windows_.begin() && time_ns < std::prev(after)->end_ns;
}

}  // namespace gprof
