// What all wrappers have in common: which calls belong to another one, and how rows say how long they took.
#pragma once

#include <cstdint>

namespace gprof::tracer {

// The frame of the outermost wrapper that the thread is in, of libc or of MPI, 0 when in none. A wrapper below it was
// called by a handler of a signal or by the library itself, and is part of that call. One above it tells that the frame
// was left by longjmp.
extern constinit thread_local uintptr_t outer_frame;

// Durations have 27 significant bits: a thousandth of a microsecond in a tenth of a second.
inline constexpr uint32_t kDurationBits = 27;

constexpr uint32_t PackDuration(uint64_t stamps) {
  const int bits = 64 - __builtin_clzll(stamps | 1);
  const uint32_t shift = bits > static_cast<int>(kDurationBits) ? static_cast<uint32_t>(bits) - kDurationBits : 0;
  return shift << kDurationBits | static_cast<uint32_t>(stamps >> shift);
}
constexpr uint64_t UnpackDuration(uint32_t packed) {
  return uint64_t{packed & ((1u << kDurationBits) - 1)} << (packed >> kDurationBits);
}
static_assert(UnpackDuration(PackDuration(12345)) == 12345);
static_assert(UnpackDuration(PackDuration((1ull << 42) + 12345)) / 100'000 == ((1ull << 42) + 12345) / 100'000);

}  // namespace gprof::tracer
