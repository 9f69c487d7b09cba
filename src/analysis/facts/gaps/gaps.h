// The busy time of a device, and the gaps between.
#pragma once

#include <cstdint>
#include <optional>

#include "analysis/facts/time/recorded_time.h"
#include "gprof/trace.h"

namespace gprof {

// A maximal interval without a GPU operation that was recorded. An operation of no length ends a gap as any other does,
// and so does the end of a capture or of a selected time.
struct Gap {
  int64_t start_ns = 0, end_ns = 0;
  uint32_t after = kNone;      // index of the operation that came next; kNone: see Trace::device_windows
  bool is_cut_before = false;  // it begins with a capture, not with the end of an operation
  bool is_cut_after = false;   // it ends with a capture, not with the start of `after`
  uint32_t device = kNone;
  int64_t DurationNs() const { return end_ns - start_ns; }
};

// What ended the gap, in the selection or beyond it.
inline GpuOp OpAfter(const Trace& trace, const Gap& gap) {
  return gap.after != kNone ? trace.ops[gap.after] : trace.device_windows[gap.device].next;
}
// The call that launched it, where that is known.
inline std::optional<ApiCall> CallAfter(const Trace& trace, const Gap& gap) {
  if (gap.after == kNone) {
    const DeviceWindow& window = trace.device_windows[gap.device];
    return window.has_next_call ? std::optional(window.next_call) : std::nullopt;
  }
  const uint32_t call = trace.ops[gap.after].api;
  return call == kNone ? std::nullopt : std::optional(trace.api_calls[call]);
}

// The device has a window: operations, or a selected time between some.
inline bool HasWindow(const Trace& trace, uint32_t device) {
  if (!trace.device_windows.empty()) return trace.device_windows[device].time.DurationNs() > 0;
  return trace.device_ops[device].first != trace.device_ops[device].last;
}

}  // namespace gprof
