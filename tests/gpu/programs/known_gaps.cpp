// Gaps, waits and overlap of known length: the program measures them with clocks of its own. usage: gpu_known_gaps WHAT
// What it knows is printed as one JSON object.
//   host      its own code between kernels       sync     waits for kernels
//   pageable  blocking copies of pageable memory overlap  kernels beside each other in two streams
#include <cuda_runtime_api.h>
#include <nvtx3/nvToolsExt.h>

#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "common/cuda_check.h"
#include "spin.h"

namespace {

using Clock = std::chrono::steady_clock;
using gprof::examples::Check;

constexpr int kRounds = 20;
constexpr std::int64_t kShortCycles = 200'000, kLongCycles = 4'000'000;  // about 0.1 and 2 ms
// So long that it does not matter how much later the second stream starts.
constexpr std::int64_t kOverlapCycles = 60'000'000;

long long NsBetween(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(to - from).count();
}

cudaStream_t NewStream() {
  cudaStream_t stream = nullptr;
  Check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  return stream;
}

// Contexts, modules and first launches are over after it.
cudaStream_t Warm() {
  const cudaStream_t stream = NewStream();
  for (int i = 0; i < 3; ++i) Check(gprof::kernels::Spin(stream, kShortCycles));
  Check(cudaStreamSynchronize(stream));
  return stream;
}

void Host() {
  const cudaStream_t stream = Warm();
  long long own_ns = 0;
  for (int i = 0; i < kRounds; ++i) {
    nvtxRangePushA("think");
    const auto start = Clock::now();
    while (NsBetween(start, Clock::now()) < 3'000'000) {
    }
    own_ns += NsBetween(start, Clock::now());
    nvtxRangePop();
    Check(gprof::kernels::Spin(stream, kShortCycles));
    Check(cudaStreamSynchronize(stream));
  }
  std::printf(R"({"rounds":%d,"own_ns":%lld})"
              "\n",
              kRounds, own_ns);
}

void Sync() {
  const cudaStream_t stream = Warm();
  long long waited_ns = 0;
  for (int i = 0; i < kRounds; ++i) {
    Check(gprof::kernels::Spin(stream, kLongCycles));
    const auto start = Clock::now();
    Check(i % 2 == 0 ? cudaStreamSynchronize(stream) : cudaDeviceSynchronize());
    waited_ns += NsBetween(start, Clock::now());
  }
  std::printf(R"({"rounds":%d,"waited_ns":%lld})"
              "\n",
              kRounds, waited_ns);
}

void Pageable() {
  constexpr std::size_t kBytes = 32 << 20;
  Warm();
  std::vector<char> host(kBytes, 1);
  void* device = nullptr;
  Check(cudaMalloc(&device, kBytes));
  Check(cudaMemcpy(device, host.data(), kBytes, cudaMemcpyHostToDevice));
  long long blocked_ns = 0;
  for (int i = 0; i < kRounds; ++i) {
    const auto start = Clock::now();
    Check(cudaMemcpy(device, host.data(), kBytes, cudaMemcpyHostToDevice));
    blocked_ns += NsBetween(start, Clock::now());
  }
  Check(cudaFree(device));
  std::printf(R"({"copies":%d,"bytes":%zu,"blocked_ns":%lld})"
              "\n",
              kRounds, kBytes, blocked_ns);
}

// As events see it: how long each stream ran, and from the first start to the last end.
void Overlap() {
  const cudaStream_t streams[2] = {Warm(), NewStream()};
  cudaEvent_t begin = nullptr, ends[2] = {};
  Check(cudaEventCreate(&begin));
  for (cudaEvent_t& end : ends) Check(cudaEventCreate(&end));
  double both_ms = 0;
  for (int i = 0; i < kRounds; ++i) {
    Check(cudaEventRecord(begin, streams[0]));
    Check(cudaStreamWaitEvent(streams[1], begin, 0));
    for (int s = 0; s < 2; ++s) {
      Check(gprof::kernels::Spin(streams[s], kOverlapCycles * (s + 1)));
      Check(cudaEventRecord(ends[s], streams[s]));
    }
    Check(cudaDeviceSynchronize());
    float shorter_ms = 0;
    Check(cudaEventElapsedTime(&shorter_ms, begin, ends[0]));
    both_ms += static_cast<double>(shorter_ms);
  }
  std::printf(R"({"rounds":%d,"overlap_ns":%.0f})"
              "\n",
              kRounds, both_ms * 1e6);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "host")
    Host();
  else if (what == "sync")
    Sync();
  else if (what == "pageable")
    Pageable();
  else if (what == "overlap")
    Overlap();
  else
    return 2;
  return 0;
}
