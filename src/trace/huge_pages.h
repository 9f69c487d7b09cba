// Large pages for large arrays: a model of millions of records is touched once, and a fault for every 4 KiB of it costs
// as much as the records do.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

namespace gprof {

template <class Vector>
void ReserveHuge(Vector& v, std::size_t count) {
  constexpr uintptr_t kHugePage = uintptr_t{2} << 20;
  v.reserve(count);
  const auto begin = reinterpret_cast<uintptr_t>(v.data());
  const uintptr_t first = (begin + kHugePage - 1) & ~(kHugePage - 1);
  const uintptr_t last = (begin + v.capacity() * sizeof(*v.data())) & ~(kHugePage - 1);
  // A hint: kernels without large pages refuse it, and nothing else changes.
  if (first < last) madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
}

}  // namespace gprof
