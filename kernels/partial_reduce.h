// PartialReduceKernel: every block adds up its share of an array and writes one partial sum.
// A profile must show: `blocks` blocks of 256 threads with 1,024 bytes of static shared memory; a duration that memory
// bandwidth sets once the array is large.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace gprof::kernels {

// Writes `blocks` sums to `partial_sums`; their order of addition is fixed, so the result is the same in every run.
cudaError_t PartialReduce(cudaStream_t stream, const float* values, std::size_t count, float* partial_sums,
                          unsigned blocks);

}  // namespace gprof::kernels
