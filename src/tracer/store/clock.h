// Time stamps of the hot paths. A stamp is a TSC reading where the TSC is the kernel's own clock, else CLOCK_MONOTONIC
// in ns; ClockMap turns stamps into the clock of the trace when rows are drained.
#pragma once

#include <cstdint>

#include "tracer/store/system_calls.h"

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace gprof::tracer {

extern bool clock_uses_tsc;  // set once before the first row is written

inline uint64_t Stamp() {
#if defined(__x86_64__)
  if (__builtin_expect(clock_uses_tsc, 1)) return __rdtsc();
#endif
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
