// Clocks of the kernel, in nanoseconds.
#pragma once

#include <time.h>

#include <cstdint>

namespace gprof {

inline constexpr int64_t kMillisecondNs = 1'000'000, kSecondNs = 1'000'000'000;

// -1: there is no such clock, as that of a process that has ended.
inline int64_t ClockNs(clockid_t clock) {
  timespec now;
  return clock_gettime(clock, &now) != 0 ? -1 : now.tv_sec * kSecondNs + now.tv_nsec;
}

inline int64_t MonotonicNs() { return ClockNs(CLOCK_MONOTONIC); }

}  // namespace gprof
