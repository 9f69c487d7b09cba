// Numbers of records as the enumerations of the format.
#pragma once

#include <cstdint>

#include "gprof/trace/record.h"

namespace gprof {

// A number that the format does not know yet reads as `fallback`: no switch ever sees it.
template <class Enum>
Enum EnumOr(uint8_t value, Enum last, Enum fallback) {
  return value <= static_cast<uint8_t>(last) ? static_cast<Enum>(value) : fallback;
}

inline trace::MemoryKind ToMemoryKind(uint8_t v) {
  return EnumOr(v, trace::MemoryKind::kManagedStatic, trace::MemoryKind::kUnknown);
}

}  // namespace gprof
