#include "spin.h"

namespace gprof::kernels {

__global__ void SpinKernel(long long cycles) {
  const long long start = clock64();
  while (clock64() - start < cycles) {
  }
}

cudaError_t Spin(cudaStream_t stream, std::int64_t cycles, unsigned blocks, unsigned threads) {
  SpinKernel<<<blocks, threads, 0, stream>>>(cycles);
  return cudaGetLastError();
}

}  // namespace gprof::kernels
