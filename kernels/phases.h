// PhasesKernel: copies, then multiplies and adds, then multiplies matrices on tensor cores, each for a given time; at
// the end a few blocks go on alone. By the clock of the GPU, which all blocks share, so that it takes as long on every
// GPU. A profile along the kernel must show: device memory busy in the first part alone, tensor cores in the third
// alone, and in the tail only as many SMs active as there are blocks in it.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace gprof::kernels {

struct Phases {
  std::uint32_t copy_ns = 0, multiply_ns = 0, tensor_ns = 0, tail_ns = 0;
  unsigned tail_blocks = 0;
};

// One block for each SM. `begun`: a word of device memory that is 0, another for each launch. `from` and `to` have
// `count` elements each.
cudaError_t RunPhases(cudaStream_t stream, const Phases& phases, unsigned long long* begun, const float* from,
                      float* to, std::size_t count, unsigned multiprocessors);

}  // namespace gprof::kernels
