// CUPTI's time stamps to the clock of the trace. On Linux they are CLOCK_REALTIME, on WSL another clock; either way the
// distance to CLOCK_MONOTONIC is measured before every drain and interpolated, so that a stepped wall clock costs the
// operations around the step and no others.
#pragma once

#include <cstdint>

namespace gprof::tracer {

class GpuClock {
 public:
  // `cupti_ns` was read at the same instant as `monotonic_ns`.
  void Add(uint64_t cupti_ns, uint64_t monotonic_ns);
  uint64_t ToNs(uint64_t cupti_ns) const;

 private:
  struct Point {
    uint64_t cupti_ns = 0, monotonic_ns = 0;
  };
  static constexpr uint32_t kPoints = 256;
  const Point& At(uint32_t i) const { return points_[(first_ + i) % kPoints]; }
  Point points_[kPoints] = {};
  uint32_t first_ = 0, count_ = 0;
};

}  // namespace gprof::tracer
