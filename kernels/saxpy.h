// SaxpyKernel: y = factor * x + y.
// A profile must show: ceil(count / 256) blocks of 256 threads; 12 bytes of memory traffic for each element, so large
// arrays run at memory bandwidth.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace gprof::kernels {

cudaError_t Saxpy(cudaStream_t stream, float factor, const float* x, float* y, std::size_t count);

}  // namespace gprof::kernels
