#include "analysis/outside.h"

#include <algorithm>

namespace gprof {
namespace {

int64_t RecordedNs(const RecordedTime& recorded, uint32_t process, int64_t from_ns, int64_t to_ns) {
  return from_ns < to_ns ? recorded.ForEachOfProcess(process, from_ns, to_ns, [](int64_t, int64_t) {}) : 0;
}

}  // namespace

std::vector<OutsideWindow> TimeOutsideWindows(const Trace& trace, const RecordedTime& recorded) {
  std::vector<OutsideWindow> all;
  std::vector<uint32_t> seen_on(trace.processes.size(), kNone);  // the last device that a process was seen on
  for (uint32_t device = 0; device < trace.device_ops.size(); ++device) {
    const Trace::Slice slice = trace.device_ops[device];
    if (slice.first == slice.last) continue;
    const bool is_selected = !trace.device_windows.empty();
    const int64_t start_ns =
        is_selected ? trace.device_windows[device].time.start_ns : trace.ops[slice.first].start_ns;
    int64_t end_ns = is_selected ? trace.device_windows[device].time.end_ns : start_ns;
    const size_t first = all.size();
    for (uint32_t i = slice.first; i < slice.last; ++i) {
      end_ns = std::max(end_ns, trace.ops[i].end_ns);
      const uint32_t process = trace.ops[i].process;
      if (process == kNone || seen_on[process] == device) continue;
      seen_on[process] = device;
      all.push_back({device, process, 0, 0});
    }
    for (size_t i = first; i < all.size(); ++i) {
      const Process& process = trace.processes[all[i].process];
      all[i].startup_ns =
          RecordedNs(recorded, all[i].process, process.start_ns, std::min(process.end_ns, start_ns));
      all[i].teardown_ns = RecordedNs(recorded, all[i].process, std::max(process.start_ns, end_ns), process.end_ns);
    }
  }
  return all;
}

}  // namespace gprof
