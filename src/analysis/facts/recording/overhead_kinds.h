// What CUPTI's records of overhead are about.
#pragma once

#include <cstdint>
#include <string_view>

#include "gprof/trace/record.h"

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

// One word for each in tables and timelines.
inline constexpr std::string_view OverheadName(uint32_t kind) {
  constexpr uint32_t kFlush = 1u << 16, kInstrumentation = 2u << 16, kResource = 3u << 16, kBufferRequest = 7u << 16,
                     kManagedMemory = 8u << 16;
  switch (kind) {
    case kOverheadCompiler:
      return "driver compiler";
    case kOverheadModuleLoading:
      return "module loading";
    case kOverheadLazyLoading:
      return "lazy function loading";
    case kOverheadCommandBufferFull:
      return "command buffer full";
    case kFlush:
      return "CUPTI buffer flush";
    case kInstrumentation:
      return "CUPTI instrumentation";
    case kResource:
      return "CUPTI resource";
    case kBufferRequest:
      return "CUPTI buffer request";
    case trace::kOverheadCounters:
      return "kernel counters";
    case kManagedMemory:
      return "managed memory recording";
    default:
      return "unknown";
  }
}

}  // namespace gprof
