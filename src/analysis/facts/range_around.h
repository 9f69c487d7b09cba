// The range that a range lies in.
#pragma once

#include <cstdint>

#include "gprof/trace.h"

namespace gprof {

// kNone: there is none. Ranges come after those that they lie in; a trace that says otherwise is damaged, and must not
// lead around in a circle.
inline uint32_t RangeAround(const Trace& trace, uint32_t range) {
  const uint32_t parent = trace.ranges.items()[range].parent;
  return parent < range ? parent : kNone;
}

}  // namespace gprof
