#include "grid.h"
#include "partial_reduce.h"

namespace gprof::kernels {

__global__ void PartialReduceKernel(const float* values, std::size_t count, float* partial_sums) {
  __shared__ float sums[kThreadsPerBlock];
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  float sum = 0;
  for (std::size_t i = ElementOfThread(); i < count; i += step) sum += values[i];
  sums[threadIdx.x] = sum;
  __syncthreads();
  for (unsigned half = kThreadsPerBlock / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) partial_sums[blockIdx.x] = sums[0];
}

cudaError_t PartialReduce(cudaStream_t stream, const float* values, std::size_t count, float* partial_sums,
                          unsigned blocks) {
  PartialReduceKernel<<<blocks, kThreadsPerBlock, 0, stream>>>(values, count, partial_sums);
  return cudaGetLastError();
}

}  // namespace gprof::kernels
