// How the process gets its memory.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gprof {

// Memory that is freed stays with the process and is used again, by any thread. Analyses take and free arrays as long
// as the trace; to get each of them from the kernel anew, page by page and zeroed, costs as much as filling them.
void KeepFreedMemory();

// About so much is going to be asked for: has the kernel give it in large pages. After KeepFreedMemory; a hint, which
// takes no memory by itself.
void ExpectMemory(std::size_t bytes);

inline constexpr std::size_t kLargePageBytes = std::size_t{2} << 20;

// Those that lie in a block from end to end, by their addresses.
struct LargePages {
  uintptr_t first = 0, last = 0;
};
LargePages LargePagesIn(const void* block, std::size_t bytes);

// Has the kernel give them as such when they are touched. Kernels without large pages refuse, and nothing else changes.
void AdviseLargePages(const LargePages& pages);

}  // namespace gprof
