#include "static_table.h"

namespace gprof::kernels {

__device__ float static_table[kStaticTableCount];

__global__ void StaticTableKernel(float* sum) {
  float total = 0;
  for (std::size_t i = 0; i < kStaticTableCount; ++i) total += static_table[i];
  *sum = total;
}

cudaError_t StaticTableAddress(float** table) {
  void* address = nullptr;
  const cudaError_t error = cudaGetSymbolAddress(&address, static_table);
  *table = static_cast<float*>(address);
  return error;
}

cudaError_t StaticTableSum(cudaStream_t stream, float* sum) {
  StaticTableKernel<<<1, 1, 0, stream>>>(sum);
  return cudaGetLastError();
}

}  // namespace gprof::kernels
