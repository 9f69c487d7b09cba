// The functions of libc that may wait, and what stands in their place. A wrapper calls what the slot held, looks at the
// clock before and after, and writes a row where that took long.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "gprof/trace/record.h"
#include "tracer/imports/import_slots.h"

namespace gprof::tracer {

struct WrappedFunction {
  WrappedSymbol wrapped;
  const char* name;  // of the function in the trace
  const char* attempt;
  trace::OsObject object;
};

const WrappedFunction* WrappedFunctions(std::size_t* count);
// Those of `only`, a list of names, or all of them; looks up what calls them now. [starting thread]
void WrapFunctions(const char* only);
inline constexpr uint32_t kMostFunctions = 128;

// What is long, in stamps. All ones: nothing is.
struct OsThresholds {
  std::atomic<uint64_t> launching{~uint64_t{0}};  // of threads that have called CUDA or NVTX
  std::atomic<uint64_t> other{~uint64_t{0}};
  std::atomic<uint64_t> files{~uint64_t{0}};   // of calls on files, whoever makes them
  std::atomic<uint64_t> stacks{~uint64_t{0}};  // of those that are told with the stack of their caller
  std::atomic<bool> is_on{false};
};
extern OsThresholds os_thresholds;

}  // namespace gprof::tracer
