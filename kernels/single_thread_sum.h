// SingleThreadSumKernel: one thread adds up an array, one element after the other.
// A profile must show: a grid of 1 block of 1 thread that takes long for what it does and leaves nearly all of the GPU
// unused, so other streams can run beside it.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace gprof::kernels {

cudaError_t SingleThreadSum(cudaStream_t stream, const float* values, std::size_t count, float* sum);

}  // namespace gprof::kernels
