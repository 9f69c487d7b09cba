// Whether operating system calls come in masses, such as those of hundreds of threads that sleep for a millisecond
// each.
#pragma once

#include <cstdint>

namespace gprof::tracer {

inline constexpr uint64_t kMostCallsInASecond = 20'000;

class CallRate {
 public:
  // `calls` is their number since the start. Says no until 100 ms have passed since it last counted: a few calls that
  // are close together tell nothing.
  bool IsTooHigh(uint64_t calls, uint64_t now_ns) {
    constexpr uint64_t kSecondNs = 1'000'000'000, kPeriodNs = kSecondNs / 10;
    const uint64_t passed_ns = now_ns - counted_ns_, more = calls - calls_;
    if (passed_ns < kPeriodNs) return false;
    calls_ = calls;
    counted_ns_ = now_ns;
    return more > kMostCallsInASecond * passed_ns / kSecondNs;
  }

 private:
  uint64_t calls_ = 0, counted_ns_ = 0;
};

}  // namespace gprof::tracer
