// Phases that each load one part of the GPU for about half a second, with an NVTX range around each and a pause
// between. Printed is what the program knows of them, as one JSON object:
//   {"sm_count": N, "copy_within": BYTES_PER_S, "copy_in": BYTES_PER_S, "copy_out": BYTES_PER_S}
#include <cuda_runtime_api.h>
#include <nvtx3/nvToolsExt.h>

#include <chrono>
#include <cstdio>
#include <functional>
#include <thread>

#include "common/cuda_memory.h"
#include "spin.h"

namespace {

using gprof::examples::Check;
using Clock = std::chrono::steady_clock;

constexpr double kPhaseS = 0.5;
constexpr std::size_t kBytes = std::size_t{256} << 20;
constexpr std::int64_t kCycles = 2'000'000;  // about a millisecond

// How often `step` ran in a second.
double RunPhase(const char* name, const std::function<void()>& step) {
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  nvtxRangePushA(name);
  const auto start = Clock::now();
  double seconds = 0;
  std::size_t steps = 0;
  while (seconds < kPhaseS) {
    for (int i = 0; i < 16; ++i, ++steps) step();
    Check(cudaDeviceSynchronize());
    seconds = std::chrono::duration<double>(Clock::now() - start).count();
  }
  nvtxRangePop();
  return static_cast<double>(steps) / seconds;
}

}  // namespace

int main() {
  gprof::examples::DeviceArray<char> from(kBytes), to(kBytes);
  gprof::examples::PinnedArray<char> host(kBytes);
  const gprof::examples::Streams streams(1);
  cudaStream_t stream = streams[0];
  int sm_count = 0;
  Check(cudaDeviceGetAttribute(&sm_count, cudaDevAttrMultiProcessorCount, 0));
  const auto copy = [stream](void* target, const void* source, cudaMemcpyKind kind) {
    Check(cudaMemcpyAsync(target, source, kBytes, kind, stream));
  };
  RunPhase("one_block", [stream] { Check(gprof::kernels::Spin(stream, kCycles)); });
  // Blocks so large that each has an SM for itself.
  const auto half = static_cast<unsigned>(sm_count / 2);
  RunPhase("half_of_the_sms", [stream, half] { Check(gprof::kernels::Spin(stream, kCycles, half, 1024)); });
  const double within = RunPhase("copy_within", [&] { copy(to.data(), from.data(), cudaMemcpyDeviceToDevice); });
  const double in = RunPhase("copy_in", [&] { copy(to.data(), host.data(), cudaMemcpyHostToDevice); });
  const double out = RunPhase("copy_out", [&] { copy(host.data(), from.data(), cudaMemcpyDeviceToHost); });
  std::printf("{\"sm_count\": %d, \"copy_within\": %.0f, \"copy_in\": %.0f, \"copy_out\": %.0f}\n", sm_count,
              within * kBytes, in * kBytes, out * kBytes);
  return 0;
}
