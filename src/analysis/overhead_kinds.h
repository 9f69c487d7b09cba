// What CUPTI's records of overhead are about.
#pragma once

#include <cstdint>

namespace gprof {

// CUpti_ActivityOverheadKind: the compiler and the loaders are work that the program asked for, a full command buffer
// is the GPU's backlog; all others are CUPTI's own.
inline constexpr uint32_t kOverheadCompiler = 1, kOverheadModuleLoading = 4u << 16, kOverheadLazyLoading = 5u << 16,
                          kOverheadCommandBufferFull = 6u << 16;

inline constexpr bool IsLoading(uint32_t overhead_kind) {
  return overhead_kind == kOverheadCompiler || overhead_kind == kOverheadModuleLoading ||
         overhead_kind == kOverheadLazyLoading;
}

inline constexpr bool IsRecording(uint32_t overhead_kind) {
  return !IsLoading(overhead_kind) && overhead_kind != kOverheadCommandBufferFull;
}

}  // namespace gprof
