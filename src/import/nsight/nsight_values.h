// Numbers as Nsight Systems writes them, as ours.
#pragma once

#include <cstdint>

#include "gprof/trace/record.h"

namespace gprof {

inline constexpr int kGlobalThreadBits = 24;  // a global id is machine, process and thread

inline constexpr uint32_t ThreadOf(int64_t global_tid) { return static_cast<uint32_t>(global_tid & 0xFFFFFF); }

// "Not one stream" and "no context" are written as the largest number.
inline constexpr uint32_t OrNone(uint32_t id) { return id == 0xFFFFFFFFu ? 0 : id; }

// ENUM_CUDA_MEM_KIND counts from 0 for pageable, one less than CUPTI does; 7 and what is above is unknown.
inline constexpr uint8_t MemoryKindOf(int64_t kind) {
  return kind >= 0 && kind < 7 ? static_cast<uint8_t>(kind + 1) : static_cast<uint8_t>(trace::MemoryKind::kUnknown);
}

}  // namespace gprof
