// The busy time of a device, and the gaps between.
#pragma once

#include <cstdint>

#include "gprof/trace.h"

namespace gprof {

// A graph recorded as a whole counts as a kernel: kernels are what it is made of as a rule.
inline bool IsKernelLike(const GpuOp& op) { return op.kind == OpKind::kKernel || op.kind == OpKind::kGraph; }

// Length of the union of intervals that come sorted by their start.
class BusyTime {
 public:
  void Add(int64_t start_ns, int64_t end_ns) {
    if (is_empty_ || start_ns > end_ns_) {
      busy_ns_ += end_ns - start_ns;
      end_ns_ = end_ns;
      is_empty_ = false;
    } else if (end_ns > end_ns_) {
      busy_ns_ += end_ns - end_ns_;
      end_ns_ = end_ns;
    }
  }
  // The next intervals are of another device: they do not overlap with those before.
  void StartOver() { is_empty_ = true; }
  int64_t busy_ns() const { return busy_ns_; }
  int64_t end_ns() const { return end_ns_; }  // of the last interval to end

 private:
  int64_t busy_ns_ = 0, end_ns_ = 0;
  bool is_empty_ = true;
};

// From the first to the last operation of the device; empty where it has none.
inline Interval WindowOf(const Trace& trace, uint32_t device) {
  const Trace::Slice slice = trace.device_ops[device];
  if (slice.first == slice.last) return {};
  Interval window{trace.ops[slice.first].start_ns, trace.ops[slice.first].end_ns};
  for (uint32_t i = slice.first; i < slice.last; ++i) {
    if (trace.ops[i].end_ns > window.end_ns) window.end_ns = trace.ops[i].end_ns;
  }
  return window;
}

// A maximal interval without a GPU operation. An operation of no length ends a gap as any other does.
struct Gap {
  int64_t start_ns = 0, end_ns = 0;
  uint32_t before = kNone;  // index of the operation that ended where the gap begins
  uint32_t after = kNone;   // index of the operation that ended the gap
  int64_t DurationNs() const { return end_ns - start_ns; }
};

// Calls f(gap) for every gap of the device, in order of time, and `seen(op)` for every operation once the gap before
// it is done with. Returns the window, as WindowOf does.
template <class F, class G>
Interval ForEachGap(const Trace& trace, uint32_t device, F&& f, G&& seen) {
  const Trace::Slice slice = trace.device_ops[device];
  if (slice.first == slice.last) return {};
  uint32_t last = slice.first;
  for (uint32_t i = slice.first; i < slice.last; ++i) {
    const GpuOp& op = trace.ops[i];
    if (op.start_ns > trace.ops[last].end_ns) f(Gap{trace.ops[last].end_ns, op.start_ns, last, i});
    if (op.end_ns > trace.ops[last].end_ns) last = i;
    seen(i);
  }
  return {trace.ops[slice.first].start_ns, trace.ops[last].end_ns};
}

}  // namespace gprof
