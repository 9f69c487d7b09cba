#include "divide_by.h"
#include "grid.h"

namespace gprof::kernels {

__global__ void DivideByKernel(float* values, std::size_t count, const float* divisor) {
  const std::size_t i = ElementOfThread();
  if (i < count) values[i] /= *divisor;
}

cudaError_t DivideBy(cudaStream_t stream, float* values, std::size_t count, const float* divisor) {
  DivideByKernel<<<BlocksFor(count), kThreadsPerBlock, 0, stream>>>(values, count, divisor);
  return cudaGetLastError();
}

}  // namespace gprof::kernels
