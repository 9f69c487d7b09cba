// Programs of the examination: others than those that findings were tuned with, written before any report of them was
// made.
//
//   exam_variants VARIANT [--lock FILE]
#include <cuda_profiler_api.h>
#include <cuda_runtime.h>
#include <fcntl.h>
#include <sys/file.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <vector>

#define CHECK(call)                                                        \
  do {                                                                     \
    const cudaError_t result = (call);                                     \
    if (result != cudaSuccess) {                                           \
      std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(result)); \
      std::exit(1);                                                        \
    }                                                                      \
  } while (false)

namespace {

void Loop(int steps, const std::function<void(int)>& step) {
  for (int i = 0; i < 3; ++i) step(i);
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaProfilerStart());
  for (int i = 0; i < steps; ++i) step(i);
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaProfilerStop());
}

void Work(double seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (std::chrono::steady_clock::now() < end) continue;
}

float* OnDevice(size_t count) {
  float* data = nullptr;
  CHECK(cudaMalloc(&data, count * sizeof(float)));
  CHECK(cudaMemset(data, 0, count * sizeof(float)));
  return data;
}

float* Pinned(size_t count) {
  float* data = nullptr;
  CHECK(cudaMallocHost(&data, count * sizeof(float)));
  return data;
}

__global__ void Relax(const float* from, float* to, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < 1 || y < 1 || x >= width - 1 || y >= height - 1) return;
  const int i = y * width + x;
  to[i] = 0.25F * (from[i - 1] + from[i + 1] + from[i - width] + from[i + width]);
}

__global__ void Residual(const float* values, float* sum, int count) {
  float mine = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) mine += values[i];
  atomicAdd(sum, mine);
}

__global__ void Count(const unsigned* keys, unsigned* bins, int count) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
    atomicAdd(&bins[keys[i] & 255], 1);
}

__global__ void Halve(float* values, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] += values[i + count];
}

__global__ void Iterate(float* values, int count, int rounds) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  float value = values[i];
  for (int k = 0; k < rounds; ++k) value = value * 0.999F + 1.0F;
  values[i] = value;
}

void Jacobi(int size, int steps) {
  float *a = OnDevice(size_t(size) * size), *b = OnDevice(size_t(size) * size), *sum = OnDevice(1);
  const dim3 block(32, 8), grid((size + 31) / 32, (size + 7) / 8);
  Loop(steps, [&](int) {
    float residual = 0;
    Relax<<<grid, block>>>(a, b, size, size);
    CHECK(cudaMemsetAsync(sum, 0, sizeof(float)));
    Residual<<<264, 256>>>(b, sum, size * size);
    CHECK(cudaMemcpy(&residual, sum, sizeof(float), cudaMemcpyDeviceToHost));
    std::swap(a, b);
  });
}

void JacobiLarge() { Jacobi(16384, 60); }
void JacobiSmall() { Jacobi(256, 800); }

void Histogram() {
  constexpr int kCount = 1 << 26;
  auto* keys = reinterpret_cast<unsigned*>(OnDevice(kCount));
  auto* bins = reinterpret_cast<unsigned*>(OnDevice(256));
  Loop(15, [&](int) {
    CHECK(cudaMemsetAsync(bins, 0, 1024));
    Count<<<1056, 256>>>(keys, bins, kCount);
  });
}

// Each level of a sum has half of the work of the one before.
void TreeSum() {
  constexpr int kCount = 1 << 18;
  float* values = OnDevice(kCount);
  Loop(150, [&](int) {
    for (int count = kCount / 2; count > 0; count /= 2) Halve<<<(count + 255) / 256, 256>>>(values, count);
  });
}

// A matrix goes to the GPU row by row.
void RowByRow() {
  constexpr int kRows = 2000, kColumns = 1024;
  std::vector<float> matrix(size_t(kRows) * kColumns);
  float* values = OnDevice(matrix.size());
  Loop(6, [&](int) {
    for (int row = 0; row < kRows; ++row)
      CHECK(cudaMemcpy(values + row * kColumns, &matrix[size_t(row) * kColumns], kColumns * 4, cudaMemcpyHostToDevice));
    Iterate<<<8000, 256>>>(values, kRows * kColumns, 20);
  });
}

// Three streams, pinned memory, and kernels that take longer than the copies behind them.
void Pipeline() {
  constexpr int kCount = 1 << 20, kParts = 3;
  float *host = Pinned(size_t(kParts) * kCount), *device = OnDevice(size_t(kParts) * kCount);
  cudaStream_t streams[kParts];
  for (auto& stream : streams) CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  Loop(60, [&](int) {
    for (int k = 0; k < kParts; ++k) {
      float *from = host + k * kCount, *to = device + k * kCount;
      CHECK(cudaMemcpyAsync(to, from, kCount * 4, cudaMemcpyHostToDevice, streams[k]));
      Iterate<<<kCount / 256, 256, 0, streams[k]>>>(to, kCount, 8000);
      CHECK(cudaMemcpyAsync(from, to, kCount * 4, cudaMemcpyDeviceToHost, streams[k]));
    }
  });
}

void ResultsPageable() {
  constexpr int kCount = 1 << 23;
  std::vector<float> host(kCount);
  float* values = OnDevice(kCount);
  Loop(30, [&](int) {
    Iterate<<<kCount / 256, 256>>>(values, kCount, 100);
    CHECK(cudaMemcpy(host.data(), values, size_t(kCount) * 4, cudaMemcpyDeviceToHost));
  });
}

void OneBlock() {
  float* values = OnDevice(1024);
  Loop(20, [&](int) { Iterate<<<1, 1024>>>(values, 1024, 400'000); });
}

void HostBetween() {
  float* values = OnDevice(1 << 22);
  Loop(60, [&](int) {
    Work(0.004);
    Iterate<<<1 << 14, 256>>>(values, 1 << 22, 300);
  });
}

void RegisterEachStep() {
  constexpr size_t kCount = 1 << 23;
  std::vector<float> host(kCount);
  float* values = OnDevice(kCount);
  Loop(20, [&](int) {
    CHECK(cudaHostRegister(host.data(), kCount * 4, cudaHostRegisterDefault));
    CHECK(cudaMemcpyAsync(values, host.data(), kCount * 4, cudaMemcpyHostToDevice));
    Iterate<<<kCount / 256, 256>>>(values, kCount, 50);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaHostUnregister(host.data()));
  });
}

void GraphRebuilt() {
  float* values = OnDevice(1 << 16);
  cudaStream_t stream{};
  CHECK(cudaStreamCreate(&stream));
  Loop(60, [&](int) {
    cudaGraph_t graph{};
    cudaGraphExec_t executable{};
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    for (int k = 0; k < 40; ++k) Iterate<<<256, 256, 0, stream>>>(values, 1 << 16, 10);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&executable, graph, 0));
    CHECK(cudaGraphLaunch(executable, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaGraphExecDestroy(executable));
    CHECK(cudaGraphDestroy(graph));
  });
}

// Two streams that could work side by side, and events that let each wait for the other.
void EventsInTurn() {
  float *first = OnDevice(1 << 14), *second = OnDevice(1 << 14);
  cudaStream_t streams[2];
  cudaEvent_t events[2];
  for (auto& stream : streams) CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  for (auto& event : events) CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  Loop(100, [&](int) {
    for (int k = 0; k < 2; ++k) {
      Iterate<<<32, 512, 0, streams[k]>>>(k == 0 ? first : second, 1 << 14, 20'000);
      CHECK(cudaEventRecord(events[k], streams[k]));
      CHECK(cudaStreamWaitEvent(streams[1 - k], events[k]));
    }
  });
}

// Copies within the GPU, again and again: the memory is the limit, and there is no kernel.
void CopiesOnDevice() {
  float *a = OnDevice(1 << 28), *b = OnDevice(1 << 28);
  Loop(100, [&](int) { CHECK(cudaMemcpyAsync(b, a, size_t(4) << 28, cudaMemcpyDeviceToDevice)); });
}

const std::map<std::string, void (*)()> kVariants{
    {"jacobi_large", JacobiLarge},
    {"jacobi_small", JacobiSmall},
    {"histogram", Histogram},
    {"tree_sum", TreeSum},
    {"row_by_row", RowByRow},
    {"pipeline", Pipeline},
    {"results_pageable", ResultsPageable},
    {"one_block", OneBlock},
    {"host_between", HostBetween},
    {"register_each_step", RegisterEachStep},
    {"graph_rebuilt", GraphRebuilt},
    {"events_in_turn", EventsInTurn},
    {"copies_on_device", CopiesOnDevice},
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || !kVariants.contains(argv[1])) {
    for (const auto& [name, function] : kVariants) std::printf("%s\n", name.c_str());
    return argc < 2 ? 0 : 2;
  }
  if (argc > 3 && std::string(argv[2]) == "--lock") {
    const int file = open(argv[3], O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (file < 0 || flock(file, LOCK_EX) != 0) return 3;
  }
  kVariants.at(argv[1])();
  return 0;
}
