#include "tracer/cupti/library/gpu_clock.h"

namespace gprof::tracer {

void GpuClock::Add(uint64_t cupti_ns, uint64_t monotonic_ns) {
  if (count_ > 0 && cupti_ns <= At(count_ - 1).cupti_ns) count_ = 0;  // the wall clock was set back: start anew
  if (count_ == kPoints) {
    first_ = (first_ + 1) % kPoints;
    --count_;
  }
  points_[(first_ + count_) % kPoints] = {cupti_ns, monotonic_ns};
  ++count_;
}

uint64_t GpuClock::ToNs(uint64_t cupti_ns) const {
  if (count_ == 0) return cupti_ns;
  uint32_t i = count_ - 1;
  while (i > 0 && cupti_ns < At(i).cupti_ns) --i;
  const Point& a = At(i);
  const bool inside = i + 1 < count_ && cupti_ns >= a.cupti_ns;
  if (!inside) return a.monotonic_ns + (cupti_ns - a.cupti_ns);  // wraps the right way for earlier stamps
  const Point& b = At(i + 1);
  const double slope =
      static_cast<double>(b.monotonic_ns - a.monotonic_ns) / static_cast<double>(b.cupti_ns - a.cupti_ns);
  return a.monotonic_ns + static_cast<uint64_t>(static_cast<double>(cupti_ns - a.cupti_ns) * slope);
}

}  // namespace gprof::tracer
