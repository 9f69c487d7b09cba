// Loops over vectors of 256 bits, for processors that have them: everything else needs a plain loop that tells the
// same.
#pragma once

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define GPROF_HAS_VECTORS 1
// Of functions that use them: the rest of the program is for any processor.
#define GPROF_VECTORS __attribute__((target("avx2,popcnt")))

namespace gprof {

inline bool CanUseVectors() {
  static const bool can = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("popcnt") != 0;
  return can;
}

}  // namespace gprof
#endif
