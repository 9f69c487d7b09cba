// Large pages for large arrays: a model of millions of records is touched once, and a fault for every 4 KiB of it costs
// as much as the records do.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

#include "base/parallel.h"
#include "base/spill.h"

namespace gprof {

inline constexpr uintptr_t kHugePageBytes = uintptr_t{2} << 20;

struct HugePages {
  uintptr_t first = 0, last = 0;  // addresses
};

template <class Vector>
HugePages HugePagesOf(Vector& v) {
  const auto begin = reinterpret_cast<uintptr_t>(v.data());
  const uintptr_t first = (begin + kHugePageBytes - 1) & ~(kHugePageBytes - 1);
  const uintptr_t last = (begin + v.capacity() * sizeof(*v.data())) & ~(kHugePageBytes - 1);
  return {first, first < last ? last : first};
}

template <class Vector>
void ReserveHuge(Vector& v, std::size_t count) {
  v.reserve(count);
  if (IsSpilling()) return;  // to be taken from this process a few at a time
  const HugePages pages = HugePagesOf(v);
  // A hint: kernels without large pages refuse it, and nothing else changes.
  if (pages.first < pages.last) {
    madvise(reinterpret_cast<void*>(pages.first), pages.last - pages.first, MADV_HUGEPAGE);
  }
}

// Has the kernel make the large pages of an array that nobody has written to, each once: of threads that come to a new
// page at the same moment, each would have one of its own zeroed, and all but one thrown away.
template <class Vector>
void TouchHuge(Vector& v, std::size_t cores) {
  const HugePages pages = HugePagesOf(v);
  ForEachSideBySide((pages.last - pages.first) / kHugePageBytes, cores, [&](std::size_t i) {
    *reinterpret_cast<volatile char*>(pages.first + i * kHugePageBytes) = 0;
  });
}

}  // namespace gprof
