// Steps with a problem that a cure of `try` is there for, and the same without the problem. Prints what they computed.
//   gpu_cures PROBLEM [STEPS]
#include <cuda_runtime_api.h>
#include <nvtx3/nvToolsExt.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "common/cuda_check.h"
#include "common/cuda_memory.h"
#include "empty.h"
#include "fill.h"
#include "saxpy.h"

namespace {

using gprof::examples::Check;
using gprof::examples::DeviceArray;
using gprof::examples::PinnedArray;

constexpr std::size_t kFloats = std::size_t{4} << 20, kBytes = kFloats * sizeof(float);

double sum = 0;

void ForEachStep(int steps, const std::function<void(int)>& body) {
  for (int i = 0; i < steps; ++i) {
    nvtxRangePushA("step");
    body(i);
    nvtxRangePop();
  }
}

// Copies in, computes, copies out; the host changes what it copies in each step.
template <class Host>
void CopyInAndOut(int steps, Host& in, Host& out, bool is_async) {
  DeviceArray<float> x(kFloats), y(kFloats);
  cudaStream_t stream;
  Check(cudaStreamCreate(&stream));
  const auto copy = [&](float* to, const float* from, cudaMemcpyKind kind) {
    Check(is_async ? cudaMemcpyAsync(to, from, kBytes, kind, stream) : cudaMemcpy(to, from, kBytes, kind));
  };
  ForEachStep(steps, [&](int i) {
    for (std::size_t at = 0; at < kFloats; at += 1024) in[at] = static_cast<float>(i + static_cast<int>(at % 7));
    copy(x.data(), in.data(), cudaMemcpyHostToDevice);
    if (!is_async) Check(cudaDeviceSynchronize());
    in[0] = -1;  // which is too late for the copy: it was of pageable memory, or has been waited for
    Check(gprof::kernels::Fill(stream, y.data(), kFloats, 1.0F));
    Check(gprof::kernels::Saxpy(stream, 2.0F, x.data(), y.data(), kFloats));
    if (!is_async) Check(cudaStreamSynchronize(stream));
    copy(out.data(), y.data(), cudaMemcpyDeviceToHost);
    for (std::size_t at = 0; at < kFloats; at += 4096) sum += static_cast<double>(out[at]);
  });
}

void Pageable(int steps, bool is_async) {
  std::vector<float> in(kFloats), out(kFloats);
  CopyInAndOut(steps, in, out, is_async);
}

void Pinned(int steps) {
  PinnedArray<float> in(kFloats), out(kFloats);
  std::memset(in.data(), 0, kBytes);
  CopyInAndOut(steps, in, out, false);
}

// Waits for the device after each of many short kernels, beside streams that have nothing to do.
void Waits(int steps, bool for_device) {
  cudaStream_t streams[3];
  for (cudaStream_t& stream : streams) Check(cudaStreamCreate(&stream));
  ForEachStep(steps, [&](int) {
    for (int i = 0; i < 50; ++i) {
      Check(gprof::kernels::Empty(streams[0]));
      Check(for_device ? cudaDeviceSynchronize() : cudaStreamSynchronize(streams[0]));
    }
  });
}

void Churn(int steps) {
  ForEachStep(steps, [&](int i) {
    float* memory = nullptr;
    Check(cudaMalloc(reinterpret_cast<void**>(&memory), kBytes * 4));
    Check(gprof::kernels::Fill(nullptr, memory, kFloats, static_cast<float>(i)));
    float last = 0;
    Check(cudaMemcpy(&last, memory + kFloats - 1, sizeof last, cudaMemcpyDeviceToHost));
    Check(cudaFree(memory));
    sum += static_cast<double>(last);
  });
}

void Reuse(int steps) {
  DeviceArray<float> memory(kFloats * 4);
  ForEachStep(steps, [&](int i) {
    for (int k = 0; k < 20; ++k) Check(gprof::kernels::Fill(nullptr, memory.data(), kFloats, static_cast<float>(i)));
    float last = 0;
    Check(cudaMemcpy(&last, memory.data() + kFloats - 1, sizeof last, cudaMemcpyDeviceToHost));
    sum += static_cast<double>(last);
  });
}

// The host writes, the GPU computes, the host reads.
void Managed(int steps) {
  float *x = nullptr, *y = nullptr;
  Check(cudaMallocManaged(reinterpret_cast<void**>(&x), kBytes));
  Check(cudaMallocManaged(reinterpret_cast<void**>(&y), kBytes));
  std::memset(y, 0, kBytes);
  ForEachStep(steps, [&](int i) {
    for (std::size_t at = 0; at < kFloats; at += 256) x[at] = static_cast<float>(i);
    Check(gprof::kernels::Saxpy(nullptr, 2.0F, x, y, kFloats));
    Check(cudaDeviceSynchronize());
    sum += static_cast<double>(y[256]);
  });
  Check(cudaFree(x));
  Check(cudaFree(y));
}

}  // namespace

int main(int argc, char** argv) {
  const std::string problem = argc > 1 ? argv[1] : "";
  const int steps = argc > 2 ? std::atoi(argv[2]) : 100;
  if (problem == "pageable") Pageable(steps, false);
  if (problem == "pageable_async") Pageable(steps, true);
  if (problem == "pinned") Pinned(steps);
  if (problem == "waits") Waits(steps, true);
  if (problem == "stream_waits") Waits(steps, false);
  if (problem == "churn") Churn(steps);
  if (problem == "reuse") Reuse(steps);
  if (problem == "managed") Managed(steps);
  std::printf("%s %.17g\n", problem.c_str(), sum);
  return 0;
}
