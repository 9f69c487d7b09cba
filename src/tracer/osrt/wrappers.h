// The functions of libc that may wait, and what stands in their place. A wrapper calls what the slot held, looks at the
// clock before and after, and writes a row where that took long.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "gprof/trace/record.h"

namespace gprof::tracer {

// Of one function. What the wrapper needs comes first.
struct WrapTarget {
  void* real = nullptr;     // null: not wrapped
  void* attempt = nullptr;  // the function that does the same without waiting, null where there is none
  uint8_t number = 0;       // in the table
};

struct WrappedFunction {
  const char* symbol;
  const char* name;  // of the function in the trace
  const char* attempt;
  trace::OsObject object;
  void* wrapper;
  WrapTarget* target;
};

const WrappedFunction* WrappedFunctions(std::size_t* count);
inline constexpr uint32_t kMostFunctions = 128;

// What is long, in stamps. All ones: nothing is.
struct OsThresholds {
  std::atomic<uint64_t> launching{~uint64_t{0}};  // of threads that have called CUDA or NVTX
  std::atomic<uint64_t> other{~uint64_t{0}};
  std::atomic<uint64_t> files{~uint64_t{0}};  // of calls on files, whoever makes them
  std::atomic<bool> is_on{false};
};
extern OsThresholds os_thresholds;

}  // namespace gprof::tracer
