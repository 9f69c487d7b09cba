#include "grid.h"
#include "saxpy.h"

namespace gprof::kernels {

__global__ void SaxpyKernel(float factor, const float* x, float* y, std::size_t count) {
  const std::size_t i = ElementOfThread();
  if (i < count) y[i] += factor * x[i];
}

cudaError_t Saxpy(cudaStream_t stream, float factor, const float* x, float* y, std::size_t count) {
  SaxpyKernel<<<BlocksFor(count), kThreadsPerBlock, 0, stream>>>(factor, x, y, count);
  return cudaGetLastError();
}

}  // namespace gprof::kernels
