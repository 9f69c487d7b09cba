// The busy time of a device, and the gaps between.
#pragma once

#include <cstdint>

#include "analysis/recorded_time.h"
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

// A maximal interval without a GPU operation that was recorded. An operation of no length ends a gap as any other does,
// and so does the end of a capture.
struct Gap {
  int64_t start_ns = 0, end_ns = 0;
  uint32_t before = kNone;       // index of the operation that ended last before the gap
  uint32_t after = kNone;        // index of the operation that came next
  bool is_cut_before = false;    // it begins with a capture, not with the end of `before`
  bool is_cut_after = false;     // it ends with a capture, not with the start of `after`
  int64_t DurationNs() const { return end_ns - start_ns; }
};

// Calls f(gap) for every gap of the device, in order of time, and `seen(op)` for every operation once the gaps before
// it are done with. Returns the length of the window: from the first to the last operation, less what was not recorded.
template <class F, class G>
int64_t ForEachGap(const Trace& trace, const RecordedTime& recorded, uint32_t device, F&& f, G&& seen) {
  const Trace::Slice slice = trace.device_ops[device];
  if (slice.first == slice.last) return 0;
  uint32_t last = slice.first;
  int64_t paused_ns = 0;
  for (uint32_t i = slice.first; i < slice.last; ++i) {
    const GpuOp& op = trace.ops[i];
    const int64_t idle_from_ns = trace.ops[last].end_ns;
    if (op.start_ns > idle_from_ns) {
      paused_ns += op.start_ns - idle_from_ns;
      paused_ns -= recorded.ForEachOfDevice(device, idle_from_ns, op.start_ns, [&](int64_t start_ns, int64_t end_ns) {
        f(Gap{start_ns, end_ns, last, i, start_ns != idle_from_ns, end_ns != op.start_ns});
      });
    }
    if (op.end_ns > trace.ops[last].end_ns) last = i;
    seen(i);
  }
  return trace.ops[last].end_ns - trace.ops[slice.first].start_ns - paused_ns;
}

// The same length alone.
inline int64_t WindowNs(const Trace& trace, const RecordedTime& recorded, uint32_t device) {
  return ForEachGap(trace, recorded, device, [](const Gap&) {}, [](uint32_t) {});
}

}  // namespace gprof
