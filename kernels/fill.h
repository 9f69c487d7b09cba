// FillKernel: writes one value to every element.
// A profile must show: ceil(count / 256) blocks of 256 threads; on large arrays a duration that memory bandwidth sets.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace gprof::kernels {

cudaError_t Fill(cudaStream_t stream, float* values, std::size_t count, float value);

}  // namespace gprof::kernels
