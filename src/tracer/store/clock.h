// Time stamps of the hot paths. A stamp is a reading of the processor's counter where that is the kernel's own clock
// (the TSC of x86-64, CNTVCT_EL0 of aarch64), else CLOCK_MONOTONIC in ns; ClockMap turns stamps into the clock of the
// trace when rows are drained.
#pragma once

#include <cstdint>

#include "tracer/system/system_calls.h"

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace gprof::tracer {

extern bool clock_uses_counter;  // set once before the first row is written

// Neither is ordered with what stands around it: that would cost more than the few ns by which it may be early.
inline uint64_t Counter() {
#if defined(__x86_64__)
  return __rdtsc();
#elif defined(__aarch64__)
  uint64_t count;
  __asm__ volatile("mrs %0, cntvct_el0" : "=r"(count));
  return count;
#else
  return 0;
#endif
}

inline uint64_t Stamp() {
  if (__builtin_expect(clock_uses_counter, 1)) return Counter();
  return MonotonicNs();
}

// Decides once for the process.
void ChooseClock();

// One instant read on all clocks, in the narrowest of several attempts.
struct Anchor {
  uint64_t stamp = 0, monotonic_ns = 0, realtime_ns = 0, uncertainty_ns = 0;
};
Anchor ReadAnchor();

// Piecewise linear through anchors. Stamps after the last anchor continue its slope: an anchor is taken before every
// drain, so that what is converted there lies between anchors or a moment after the last.
class ClockMap {
 public:
  void Add(const Anchor& anchor);
  uint64_t ToNs(uint64_t stamp) const;
  // The other way, for moments after the last anchor but one.
  uint64_t ToStamp(uint64_t ns) const;
  // Forgets the past: recording begins here.
  void Start(const Anchor& anchor) {
    count_ = 0;
    Add(anchor);
  }

 private:
  static constexpr uint32_t kAnchors = 256;  // two minutes at the slowest pace; older stamps use the oldest segment
  const Anchor& At(uint32_t i) const { return anchors_[(first_ + i) % kAnchors]; }
  Anchor anchors_[kAnchors] = {};
  uint32_t first_ = 0, count_ = 0;
};

// The one that the stamps of this process are converted with. [writer thread, once it runs]
ClockMap& StampClock();

}  // namespace gprof::tracer
