#include "base/machine/process_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <climits>
#include <cstdint>
#include <cstdlib>  // says which C library this is

#ifdef __GLIBC__
#include <malloc.h>
#include <unistd.h>
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

LargePages LargePagesIn(const void* block, std::size_t bytes) {
  const auto begin = reinterpret_cast<uintptr_t>(block);
  const uintptr_t first = (begin + kLargePageBytes - 1) & ~(kLargePageBytes - 1);
  const uintptr_t last = (begin + bytes) & ~(kLargePageBytes - 1);
  return {first, first < last ? last : first};
}

void AdviseLargePages(const LargePages& pages) {
  if (pages.first < pages.last) madvise(reinterpret_cast<void*>(pages.first), pages.last - pages.first, MADV_HUGEPAGE);
}

#ifdef __GLIBC__
namespace {

std::size_t HalfOfTheMachine() {
  const long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
  return pages > 0 && page_bytes > 0 ? static_cast<std::size_t>(pages) / 2 * static_cast<std::size_t>(page_bytes) : 0;
}

}  // namespace

// The heap is made so long and is free again: it stays mapped, and what is asked for next lies in there. Arrays of
// large traces that are longer than that are mapped by themselves.
void ExpectMemory(std::size_t bytes) {
  constexpr std::size_t kMostBytes = std::size_t{1000} << 20;  // kept when it is freed, see KeepFreedMemory
  constexpr std::size_t kWorthwhileBytes = 2 * kLargePageBytes;
  if (bytes < kWorthwhileBytes) return;
  bytes = std::min({bytes, kMostBytes, HalfOfTheMachine()});
  void* const block = std::malloc(bytes);
  if (block == nullptr) return;
  AdviseLargePages(LargePagesIn(block, bytes));
  std::free(block);
}
#else
void ExpectMemory(std::size_t) {}
#endif

}  // namespace gprof
