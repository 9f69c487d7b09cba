#include "base/memory.h"

#include <climits>
#include <cstdlib>  // says which C library this is

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace gprof {

void KeepFreedMemory() {
#ifdef __GLIBC__
  constexpr int kMost = 1 << 30, kMostOfOlder = 32 << 20;  // glibc before 2.35 does not take more
  if (mallopt(M_MMAP_THRESHOLD, kMost) == 0) mallopt(M_MMAP_THRESHOLD, kMostOfOlder);
  mallopt(M_TRIM_THRESHOLD, INT_MAX);
  mallopt(M_TOP_PAD, 16 << 20);
  mallopt(M_ARENA_MAX, 1);
#endif
}

}  // namespace gprof
