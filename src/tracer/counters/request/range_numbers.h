// --range-filter: which of the ranges that match are measured, by their numbers, which begin with 1.
#pragma once

#include <cstdint>

namespace gprof::tracer {

struct RangeNumbers {
  // Extended regular expressions for whole numbers; null: all.
  const char* profiler = nullptr;  // of ranges between cudaProfilerStart and cudaProfilerStop
  const char* nvtx = nullptr;      // of NVTX ranges that a filter includes
  bool is_within = false;          // NVTX ranges are counted anew after each cudaProfilerStart
  bool HasAny() const { return profiler != nullptr || nvtx != nullptr; }
};

// All of it with the lock of who measures.
// Once, before the others. False: an expression is none, which `bad` is then.
bool PrepareRangeNumbers(const RangeNumbers& wanted, const char** bad);
void CountProfilerRange();
// The calling thread came to where a filter looks, or left it.
void EnterNvtxRange();
void LeaveNvtxRange();
// Where the calling thread is now.
bool TakesRangeNumbers();
void ForgetRangeNumbersAfterFork();

}  // namespace gprof::tracer
