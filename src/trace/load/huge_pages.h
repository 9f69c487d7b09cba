// Large pages for large arrays: a model of millions of records is touched once, and a fault for every 4 KiB of it costs
// as much as the records do.
#pragma once

#include <cstddef>

#include "base/machine/parallel.h"
#include "base/machine/process_memory.h"

namespace gprof {

template <class Vector>
LargePages LargePagesOf(const Vector& v) {
  return LargePagesIn(v.data(), v.capacity() * sizeof(*v.data()));
}

template <class Vector>
void ReserveHuge(Vector& v, std::size_t count) {
  v.reserve(count);
  AdviseLargePages(LargePagesOf(v));
}

// Has the kernel make the large pages of an array that nobody has written to, each once: of threads that come to a new
// page at the same moment, each would have one of its own zeroed, and all but one thrown away.
template <class Vector>
void TouchHuge(Vector& v, std::size_t cores) {
  const LargePages pages = LargePagesOf(v);
  ForEachSideBySide((pages.last - pages.first) / kLargePageBytes, cores,
                    [&](std::size_t i) { *reinterpret_cast<volatile char*>(pages.first + i * kLargePageBytes) = 0; });
}

}  // namespace gprof
