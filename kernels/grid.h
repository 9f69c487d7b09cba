// One thread for each element: what the element-wise kernels of this folder share.
#pragma once

#include <cstddef>

namespace gprof::kernels {

inline constexpr unsigned kThreadsPerBlock = 256;

inline unsigned BlocksFor(std::size_t count) {
  return static_cast<unsigned>((count + kThreadsPerBlock - 1) / kThreadsPerBlock);
}

#ifdef __CUDACC__
__device__ inline std::size_t ElementOfThread() {
  return static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
#endif

}  // namespace gprof::kernels
