// StaticTableKernel: adds up a table that is a __device__ variable.
// A profile must show: copies to and from the table, by its address, with memory kind "device"; the module is loaded
// before them.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace gprof::kernels {

inline constexpr std::size_t kStaticTableCount = 256;

// Address of the table in the memory of the current device.
cudaError_t StaticTableAddress(float** table);
cudaError_t StaticTableSum(cudaStream_t stream, float* sum);

}  // namespace gprof::kernels
