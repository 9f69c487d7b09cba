#include "single_thread_sum.h"

namespace gprof::kernels {

__global__ void SingleThreadSumKernel(const float* values, std::size_t count, float* sum) {
  float total = 0;
  for (std::size_t i = 0; i < count; ++i) total += values[i];
  *sum = total;
}

cudaError_t SingleThreadSum(cudaStream_t stream, const float* values, std::size_t count, float* sum) {
  SingleThreadSumKernel<<<1, 1, 0, stream>>>(values, count, sum);
  return cudaGetLastError();
}

}  // namespace gprof::kernels
