// SpinKernel: keeps its blocks busy for a number of clock cycles and touches no memory.
// A profile must show: a duration of `cycles` divided by the SM clock, whatever the number of blocks, as long as all of
// them fit on the GPU at once. So it is the yardstick for durations and for overlap between streams.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace gprof::kernels {

cudaError_t Spin(cudaStream_t stream, std::int64_t cycles, unsigned blocks = 1, unsigned threads = 32);

}  // namespace gprof::kernels
