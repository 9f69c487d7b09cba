// DivideByKernel: divides every element by a number that lies in device memory.
// A profile must show: ceil(count / 256) blocks of 256 threads; 8 bytes of memory traffic for each element.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace gprof::kernels {

cudaError_t DivideBy(cudaStream_t stream, float* values, std::size_t count, const float* divisor);

}  // namespace gprof::kernels
