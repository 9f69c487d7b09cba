#include "fill.h"
#include "grid.h"

namespace gprof::kernels {

__global__ void FillKernel(float* values, std::size_t count, float value) {
  const std::size_t i = ElementOfThread();
  if (i < count) values[i] = value;
}

cudaError_t Fill(cudaStream_t stream, float* values, std::size_t count, float value) {
  FillKernel<<<BlocksFor(count), kThreadsPerBlock, 0, stream>>>(values, count, value);
  return cudaGetLastError();
}

}  // namespace gprof::kernels
