// EmptyKernel: does nothing.
// A profile must show: the launch costs far more than the kernel; grid, block and dynamic shared memory as asked for.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace gprof::kernels {

cudaError_t Empty(cudaStream_t stream, dim3 grid = dim3(1), dim3 block = dim3(32), std::size_t shared_bytes = 0);

}  // namespace gprof::kernels
