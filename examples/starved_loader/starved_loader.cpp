// A training loop whose GPU waits for its data: every batch is made on the CPU, between the steps, by the same thread.
#include <cuda_runtime_api.h>

#include <cmath>
#include <cstdint>
#include <cstdio>

#include "common/arguments.h"
#include "common/cuda_memory.h"
#include "common/nvtx_range.h"
#include "saxpy.h"

using namespace gprof::examples;

namespace {

constexpr int kPassesPerStep = 8;
constexpr float kRate = 0.5f;

// A multiple of 1/256 below 1, so that sums of a few hundred are exact.
float Sample(std::size_t step, std::size_t i) {
  std::uint64_t x = (step + 1) * 0x9E3779B97F4A7C15u + i;
  for (int k = 0; k < 8; ++k) x = (x ^ (x >> 29)) * 0xBF58476D1CE4E5B9u;
  return static_cast<float>(x >> 56) / 256.0f;
}

// Stands for decoding and augmenting: work for the CPU, while the GPU has nothing to do.
void LoadBatch(std::size_t step, PinnedArray<float>& batch) {
  const NvtxRange range("load");
  for (std::size_t i = 0; i < batch.size(); ++i) batch[i] = Sample(step, i);
}

void Compute(cudaStream_t stream, PinnedArray<float>& batch, float* device_batch, float* weights) {
  const NvtxRange range("compute");
  const std::size_t bytes = batch.size() * sizeof(float);
  Check(cudaMemcpyAsync(device_batch, batch.data(), bytes, cudaMemcpyHostToDevice, stream));
  for (int pass = 0; pass < kPassesPerStep; ++pass) {
    Check(gprof::kernels::Saxpy(stream, kRate, device_batch, weights, batch.size()));
  }
  Check(cudaStreamSynchronize(stream));
}

// The first weights are enough: all of them went the same way.
bool IsCorrect(const float* weights, std::size_t count, std::size_t steps) {
  for (std::size_t i = 0; i < count && i < 1000; ++i) {
    double expected = 0;
    for (std::size_t step = 0; step < steps; ++step) expected += double{kRate} * kPassesPerStep * Sample(step, i);
    if (!(std::abs(weights[i] - expected) <= 1e-3 * (1 + expected))) return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments(argc, argv, "starved_loader [-n ELEMENTS] [-s STEPS]");
  const std::size_t count = arguments.Number("-n", std::size_t{1} << 18);
  const std::size_t steps = arguments.Number("-s", 40);
  arguments.Finish();
  PinnedArray<float> batch(count), result(count);
  const DeviceArray<float> device_batch(count), weights(count);
  const Streams streams(1);
  Check(cudaMemsetAsync(weights.data(), 0, count * sizeof(float), streams[0]));
  for (std::size_t step = 0; step < steps; ++step) {
    const NvtxRange range("step");
    LoadBatch(step, batch);
    Compute(streams[0], batch, device_batch.data(), weights.data());
  }
  Check(cudaMemcpyAsync(result.data(), weights.data(), count * sizeof(float), cudaMemcpyDeviceToHost, streams[0]));
  Check(cudaStreamSynchronize(streams[0]));
  const bool correct = IsCorrect(result.data(), count, steps);
  std::printf("%zu steps of %zu elements: %s\n", steps, count, correct ? "correct" : "wrong");
  return correct ? 0 : 1;
}
