// Kernels of known traffic, and kernels that give wrong results if they run twice. Printed is a JSON object for each.
//
//   gpu_known_traffic traffic LAUNCHES MIB...   vector additions: two thirds of so many MiB are read, one is written
//   gpu_known_traffic results LAUNCHES          what each launch changes, in several ways
#include <cooperative_groups.h>
#include <cuda_runtime_api.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

namespace {

void Check(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "error: %s\n", cudaGetErrorString(error));
  std::exit(1);
}

constexpr unsigned kThreads = 256;

__global__ void AddVectors(const float* a, const float* b, float* c, std::size_t count) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) c[i] = a[i] + b[i];
}

__global__ void SetVector(float* a, float value, std::size_t count) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) a[i] = value + static_cast<float>(i % 64);
}

unsigned BlocksFor(std::size_t count) { return static_cast<unsigned>((count + kThreads - 1) / kThreads); }

template <class T>
T* Device(std::size_t count) {
  void* memory = nullptr;
  Check(cudaMalloc(&memory, count * sizeof(T)));
  Check(cudaMemset(memory, 0, count * sizeof(T)));
  return static_cast<T*>(memory);
}

void RunTraffic(int launches, std::size_t mib) {
  const std::size_t count = (mib << 20) / 3 / sizeof(float);
  float *a = Device<float>(count), *b = Device<float>(count), *c = Device<float>(count);
  SetVector<<<BlocksFor(count), kThreads>>>(a, 1, count);
  SetVector<<<BlocksFor(count), kThreads>>>(b, 2, count);
  Check(cudaDeviceSynchronize());
  for (int i = 0; i < launches; ++i) AddVectors<<<BlocksFor(count), kThreads>>>(a, b, c, count);
  Check(cudaDeviceSynchronize());
  std::vector<float> got(count);
  Check(cudaMemcpy(got.data(), c, count * sizeof(float), cudaMemcpyDefault));
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < count; ++i) wrong += got[i] == 3 + 2 * static_cast<float>(i % 64) ? 0 : 1;
  std::printf("{\"traffic_mib\":%zu,\"blocks\":%u,\"read_bytes\":%zu,\"written_bytes\":%zu,\"wrong\":%zu}\n", mib,
              BlocksFor(count), 2 * count * sizeof(float), count * sizeof(float), wrong);
  Check(cudaFree(a));
  Check(cudaFree(b));
  Check(cudaFree(c));
}

// ---- results ----

constexpr std::size_t kCells = std::size_t{1} << 20;
__device__ unsigned launches_counted = 0;
__device__ unsigned long long blocks_counted = 0;

// In place, in a variable of the module, and by an atomic of every block.
__global__ void Change(unsigned* cells) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  cells[i] = 3 * cells[i] + 1;
  if (i == 0) ++launches_counted;
  if (threadIdx.x == 0) atomicAdd(&blocks_counted, 1ull);
}

// A list that grows: where an element goes depends on which thread comes first.
__global__ void Append(unsigned* list, unsigned* size) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i % 7 == 0) list[atomicAdd(size, 1u)] = i;
}

__global__ void ChangeTogether(unsigned* cells) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const unsigned before = cells[(i + kThreads) % (std::size_t{gridDim.x} * blockDim.x)];
  cooperative_groups::this_grid().sync();
  cells[i] = before + 1;
}

unsigned Changed(int launches) {
  unsigned value = 0;
  for (int i = 0; i < launches; ++i) value = 3 * value + 1;
  return value;
}

std::size_t CountWrong(const unsigned* cells, std::size_t count, unsigned expected) {
  std::vector<unsigned> got(count);
  Check(cudaMemcpy(got.data(), cells, count * sizeof(unsigned), cudaMemcpyDefault));
  std::size_t wrong = 0;
  for (const unsigned value : got) wrong += value == expected ? 0 : 1;
  return wrong;
}

void Say(const char* what, std::size_t wrong) { std::printf("{\"result\":\"%s\",\"wrong\":%zu}\n", what, wrong); }

void CheckChange(int launches) {
  auto* const cells = Device<unsigned>(kCells);
  for (int i = 0; i < launches; ++i) Change<<<kCells / kThreads, kThreads>>>(cells);
  Check(cudaDeviceSynchronize());
  Say("in place", CountWrong(cells, kCells, Changed(launches)));
  unsigned counted = 0;
  unsigned long long blocks = 0;
  Check(cudaMemcpyFromSymbol(&counted, launches_counted, sizeof counted));
  Check(cudaMemcpyFromSymbol(&blocks, blocks_counted, sizeof blocks));
  Say("variable of the module", counted == static_cast<unsigned>(launches) ? 0 : 1);
  Say("atomics", blocks == static_cast<unsigned long long>(launches) * (kCells / kThreads) ? 0 : 1);
}

void CheckAppend(int launches) {
  constexpr unsigned kBlocks = 1024, kEach = (kBlocks * kThreads + 6) / 7;
  auto* const list = Device<unsigned>(std::size_t{kEach} * static_cast<unsigned>(launches));
  auto* const size = Device<unsigned>(1);
  for (int i = 0; i < launches; ++i) Append<<<kBlocks, kThreads>>>(list, size);
  Check(cudaDeviceSynchronize());
  Say("list that grows", CountWrong(size, 1, kEach * static_cast<unsigned>(launches)));
  std::vector<unsigned> got(std::size_t{kEach} * static_cast<unsigned>(launches));
  Check(cudaMemcpy(got.data(), list, got.size() * sizeof(unsigned), cudaMemcpyDefault));
  std::vector<int> seen(kBlocks * kThreads, 0);
  for (const unsigned i : got) ++seen[i];
  std::size_t wrong = 0;
  for (unsigned i = 0; i < seen.size(); ++i) wrong += seen[i] == (i % 7 == 0 ? launches : 0) ? 0 : 1;
  Say("elements of it", wrong);
}

void CheckTogether(int launches) {
  constexpr unsigned kBlocks = 32;
  auto* cells = Device<unsigned>(std::size_t{kBlocks} * kThreads);
  void* arguments[] = {&cells};
  for (int i = 0; i < launches; ++i)
    Check(cudaLaunchCooperativeKernel(reinterpret_cast<void*>(ChangeTogether), dim3(kBlocks), dim3(kThreads), arguments,
                                      0, nullptr));
  Check(cudaDeviceSynchronize());
  Say("cooperative", CountWrong(cells, std::size_t{kBlocks} * kThreads, static_cast<unsigned>(launches)));
}

// Copies of another thread and another stream, while launches are measured.
void CheckCopiesBeside(int launches) {
  auto* const cells = Device<unsigned>(kCells);
  std::atomic<bool> ends{false};
  std::size_t wrong = 0;
  std::thread other([&] {
    cudaStream_t stream = nullptr;
    Check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    auto* const memory = Device<unsigned>(kCells);
    std::vector<unsigned> values(kCells), back(kCells);
    for (unsigned round = 1; !ends; ++round) {
      for (unsigned& value : values) value = round;
      Check(cudaMemcpyAsync(memory, values.data(), kCells * sizeof(unsigned), cudaMemcpyDefault, stream));
      Check(cudaStreamSynchronize(stream));
      Check(cudaMemcpyAsync(back.data(), memory, kCells * sizeof(unsigned), cudaMemcpyDefault, stream));
      Check(cudaStreamSynchronize(stream));
      wrong += back == values ? 0 : 1;
    }
  });
  for (int i = 0; i < launches; ++i) Change<<<kCells / kThreads, kThreads>>>(cells);
  Check(cudaDeviceSynchronize());
  ends = true;
  other.join();
  Say("copies beside", wrong);
  Say("in place beside copies", CountWrong(cells, kCells, Changed(launches)));
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 2 ? argv[1] : "";
  const int launches = argc > 2 ? std::atoi(argv[2]) : 0;
  if (what == "traffic") {
    for (int i = 3; i < argc; ++i) RunTraffic(launches, std::strtoull(argv[i], nullptr, 10));
  } else if (what == "results") {
    CheckChange(launches);
    CheckAppend(launches);
    CheckTogether(launches);
    CheckCopiesBeside(launches);
  } else {
    std::fputs("usage: gpu_known_traffic traffic LAUNCHES MIB... | results LAUNCHES\n", stderr);
    return 2;
  }
  return 0;
}
