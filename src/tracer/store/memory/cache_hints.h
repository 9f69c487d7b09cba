// Rows go from the core of a thread to that of the writer thread, and their memory back again. In a storm this traffic
// is most of what a row costs; both hints are no-ops where a processor does not know them, and touch nothing.
#pragma once

#include <cstddef>

namespace gprof::tracer {

inline constexpr std::size_t kLineBytes = 64;

// The line will be written soon: fetches it from whichever core has it.
inline void PrepareToWrite(const void* at) {
#ifdef __x86_64__
  __asm__ volatile("prefetchw %0" : : "m"(*static_cast<const char*>(at)));
#else
  __builtin_prefetch(at, 1);
#endif
}

// This core is done with the memory: another gets it from the cache that all share, not from here.
inline void LeaveToOthers(const void* at, std::size_t bytes) {
#ifdef __x86_64__
  const auto* line = static_cast<const char*>(at);
  for (const char* const end = line + bytes; line < end; line += kLineBytes) {
    __asm__ volatile("cldemote %0" : : "m"(*line));
  }
#else
  static_cast<void>(at);
  static_cast<void>(bytes);
#endif
}

}  // namespace gprof::tracer
