// Kernels in pairs: one that has a limit which `gprof-cli counters --set full` names first, and one that does the same
// work without it.
// A profile must show: the finding of the table as the first one of a kernel that has it, and never for its twin.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace gprof::kernels {

struct LimitArrays {
  float* x = nullptr;
  float* y = nullptr;
  std::size_t count = 0;  // of each
  int multiprocessors = 0;
};

struct Limit {
  const char* kernel;
  const char* finding;
  bool has_it;
  cudaError_t (*launch)(cudaStream_t stream, const LimitArrays& arrays);
};

inline constexpr int kLimits = 28;
// The elements that x and y need at least.
inline constexpr std::size_t kLimitElements = std::size_t{1} << 26;
extern const Limit limits[kLimits];

}  // namespace gprof::kernels
