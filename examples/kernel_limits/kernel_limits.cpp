// Kernels that have a limit, and kernels that do the same work without it. Prints which finding the report of
// `gprof-cli counters --set full` has first of a kernel, and which it must not have of its twin.
#include "kernel_limits.h"

#include <cuda_runtime_api.h>

#include <cstdio>

#include "common/arguments.h"
#include "common/cuda_memory.h"

using namespace gprof::examples;
using gprof::kernels::Limit;
using gprof::kernels::LimitArrays;

int main(int argc, char** argv) {
  Arguments arguments(argc, argv, "kernel_limits [-s ROUNDS]");
  const std::size_t rounds = arguments.Number("-s", 1);
  arguments.Finish();
  constexpr std::size_t kElements = gprof::kernels::kLimitElements;
  const DeviceArray<float> x(kElements), y(kElements);
  Check(cudaMemset(x.data(), 0, kElements * sizeof(float)));
  Check(cudaMemset(y.data(), 0, kElements * sizeof(float)));
  LimitArrays arrays{x.data(), y.data(), kElements, 0};
  int device = 0;
  Check(cudaGetDevice(&device));
  Check(cudaDeviceGetAttribute(&arrays.multiprocessors, cudaDevAttrMultiProcessorCount, device));
  for (std::size_t round = 0; round < rounds; ++round) {
    for (const Limit& limit : gprof::kernels::limits) Check(limit.launch(nullptr, arrays));
  }
  Check(cudaDeviceSynchronize());
  for (const Limit& limit : gprof::kernels::limits) {
    std::printf("{\"kernel\": \"%s\", \"finding\": \"%s\", \"has_it\": %s}\n", limit.kernel, limit.finding,
                limit.has_it ? "true" : "false");
  }
  return 0;
}
