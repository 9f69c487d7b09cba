// Programs of the fourth examination, in the manner of benchmark suites and samples: whole runs of one to three
// seconds. They and their labels were there before anybody profiled them.
//
//   exam4_variants VARIANT [--lock FILE]
#include <cuda_runtime.h>
#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <thread>
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

template <typename T = float>
T* OnDevice(size_t count) {
  T* data = nullptr;
  CHECK(cudaMalloc(&data, count * sizeof(T)));
  CHECK(cudaMemset(data, 0, count * sizeof(T)));
  return data;
}

float* Pinned(size_t count) {
  float* data = nullptr;
  CHECK(cudaMallocHost(&data, count * sizeof(float)));
  std::fill_n(data, count, 1.0F);
  return data;
}

__global__ void Iterate(float* values, int count, int rounds) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  float value = values[i];
  for (int k = 0; k < rounds; ++k) value = value * 0.9999F + 0.25F;
  values[i] = value;
}

__global__ void AlignDiagonal(int* scores, int size, int diagonal) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x + 1, k = diagonal - i;
  if (i >= size || k < 1 || k >= size) return;
  const int match = (i * 7 + k * 3) % 4 == 0 ? 2 : -1;
  const int best = max(scores[(i - 1) * size + k], scores[i * size + k - 1]) - 1;
  scores[i * size + k] = max(best, scores[(i - 1) * size + k - 1] + match);
}

// Two sequences are aligned, diagonal by diagonal: kernels of one to sixteen blocks that take a few microseconds.
void WavefrontAlignment() {
  constexpr int kSize = 4096;
  int* scores = OnDevice<int>(size_t(kSize) * kSize);
  for (int round = 0; round < 3; ++round) {
    for (int diagonal = 2; diagonal < 2 * kSize - 1; ++diagonal) {
      AlignDiagonal<<<(std::min(diagonal, kSize) + 255) / 256, 256>>>(scores, kSize, diagonal);
    }
  }
  CHECK(cudaDeviceSynchronize());
}

__global__ void ConvolveRow(const float* from, float* to, int width, int height, int stride) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  const int count = width * height, i = y * width + x;
  float sum = 0;
  for (int k = -8; k <= 8; ++k) sum += from[min(max(i + k * stride, 0), count - 1)] * 0.0588F;
  to[i] = sum;
}

// A separable filter of radius 8 on an image of 16 million pixels, rows and then columns, 600 times.
void SeparableConvolution() {
  constexpr int kWidth = 4096, kHeight = 4096;
  float *a = OnDevice(size_t(kWidth) * kHeight), *b = OnDevice(size_t(kWidth) * kHeight);
  for (int i = 0; i < 600; ++i) {
    ConvolveRow<<<dim3(kWidth / 32, kHeight / 8), dim3(32, 8)>>>(a, b, kWidth, kHeight, 1);
    ConvolveRow<<<dim3(kWidth / 32, kHeight / 8), dim3(32, 8)>>>(b, a, kWidth, kHeight, kWidth);
  }
  CHECK(cudaDeviceSynchronize());
}

__global__ void KeepSome(const int* from, int* to, int* kept, int count, int round) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count || (from[i] + i + round) % 64 == 0) return;
  to[atomicAdd(kept, 1)] = from[i];
}

// Particles that left are taken out: how many are left comes back each time, for the grid of the next launch.
void CompactionByCount() {
  constexpr int kCount = 1 << 16;
  int *from = OnDevice<int>(kCount), *to = OnDevice<int>(kCount), *kept = OnDevice<int>(1);
  for (int repeat = 0; repeat < 20; ++repeat) {
    int count = kCount;
    for (int round = 0; round < 150 && count > 0; ++round) {
      CHECK(cudaMemset(kept, 0, sizeof(int)));
      KeepSome<<<(count + 255) / 256, 256>>>(from, to, kept, count, round);
      CHECK(cudaMemcpy(&count, kept, sizeof(int), cudaMemcpyDeviceToHost));
      std::swap(from, to);
    }
  }
}

__global__ void SmallProduct(const float* a, const float* b, float* c) {
  const int x = threadIdx.x, y = threadIdx.y;
  float sum = 0;
  for (int k = 0; k < 32; ++k) sum += a[y * 32 + k] * b[k * 32 + x];
  c[y * 32 + x] = sum;
}

// 20,000 products of matrices of 32 x 32, each by a launch of its own.
void SmallProductsInALoop() {
  constexpr int kMatrices = 20'000, kSize = 32 * 32;
  float *a = OnDevice(size_t(kMatrices) * kSize), *b = OnDevice(kSize), *c = OnDevice(size_t(kMatrices) * kSize);
  for (int i = 0; i < kMatrices; ++i) SmallProduct<<<1, dim3(32, 32)>>>(a + i * kSize, b, c + i * kSize);
  CHECK(cudaDeviceSynchronize());
}

// Two streams and pinned memory, but cudaMemcpy where cudaMemcpyAsync was meant.
void BlockingCopiesInTwoStreams() {
  constexpr int kCount = 1 << 22;
  float* host = Pinned(2 * kCount);
  float* device = OnDevice(2 * kCount);
  cudaStream_t streams[2];
  for (auto& stream : streams) CHECK(cudaStreamCreate(&stream));
  for (int i = 0; i < 300; ++i) {
    const int k = i % 2;
    CHECK(cudaMemcpy(device + k * kCount, host + k * kCount, kCount * 4, cudaMemcpyHostToDevice));
    Iterate<<<kCount / 256, 256, 0, streams[k]>>>(device + k * kCount, kCount, 2500);
  }
  CHECK(cudaDeviceSynchronize());
}

// Four threads with work of their own, 16 blocks in each launch, and all of it gets into the one default stream.
void ThreadsInTheDefaultStream() {
  constexpr int kCount = 16 * 256;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([] {
      float* values = OnDevice(kCount);
      for (int i = 0; i < 1500; ++i) Iterate<<<16, 256>>>(values, kCount, 40'000);
      CHECK(cudaStreamSynchronize(nullptr));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

__global__ void Scale(const float* from, float* to, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) to[i] = from[i] * 2;
}

// Kernels read their input from the memory of the host, which is mapped: each byte comes over the bus again.
void InputReadOverTheBus() {
  constexpr int kCount = 1 << 24;
  float *host = nullptr, *mapped = nullptr, *device = OnDevice(kCount);
  CHECK(cudaHostAlloc(&host, kCount * 4, cudaHostAllocMapped));
  std::fill_n(host, kCount, 1.0F);
  CHECK(cudaHostGetDevicePointer(&mapped, host, 0));
  for (int i = 0; i < 600; ++i) Scale<<<kCount / 256, 256>>>(mapped, device, kCount);
  CHECK(cudaDeviceSynchronize());
}

// Each step of a simulation is followed by its output: a copy to pinned memory that is waited for.
void ResultsAfterEachStep() {
  constexpr int kCount = 1 << 23;
  float *host = Pinned(kCount), *device = OnDevice(kCount);
  cudaStream_t stream{};
  CHECK(cudaStreamCreate(&stream));
  for (int i = 0; i < 500; ++i) {
    Iterate<<<kCount / 256, 256, 0, stream>>>(device, kCount, 1500);
    CHECK(cudaMemcpyAsync(host, device, kCount * 4, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
  }
}

// Random numbers are drawn on the host, a million for each iteration.
void RandomNumbersOfTheHost() {
  constexpr int kCount = 1 << 20;
  std::mt19937 generator(1);
  std::normal_distribution<float> normal;
  float *host = Pinned(kCount), *device = OnDevice(kCount);
  for (int i = 0; i < 60; ++i) {
    for (int k = 0; k < kCount; ++k) host[k] = normal(generator);
    CHECK(cudaMemcpy(device, host, kCount * 4, cudaMemcpyHostToDevice));
    Iterate<<<kCount / 256, 256>>>(device, kCount, 2000);
  }
  CHECK(cudaDeviceSynchronize());
}

// Scratch memory of a stream-ordered pool, which gives everything back whenever the stream is waited for.
void PoolThatKeepsNothing() {
  constexpr size_t kCount = 1 << 26;
  cudaStream_t stream{};
  CHECK(cudaStreamCreate(&stream));
  for (int i = 0; i < 400; ++i) {
    float* scratch = nullptr;
    CHECK(cudaMallocAsync(&scratch, kCount * 4, stream));
    Iterate<<<1024, 256, 0, stream>>>(scratch, 1024 * 256, 500);
    CHECK(cudaFreeAsync(scratch, stream));
    CHECK(cudaStreamSynchronize(stream));
  }
}

// As benchmarks time kernels: an event before, one after, and a wait for it, around each short kernel.
void EachKernelTimedByEvents() {
  constexpr int kCount = 1 << 18;
  float* values = OnDevice(kCount);
  cudaEvent_t start{}, stop{};
  CHECK(cudaEventCreate(&start));
  CHECK(cudaEventCreate(&stop));
  float all = 0, ms = 0;
  for (int i = 0; i < 4'000; ++i) {
    CHECK(cudaEventRecord(start));
    Iterate<<<kCount / 256, 256>>>(values, kCount, 400);
    CHECK(cudaEventRecord(stop));
    CHECK(cudaEventSynchronize(stop));
    CHECK(cudaEventElapsedTime(&ms, start, stop));
    all += ms;
  }
  std::printf("%f\n", all);
}

__global__ void Persistent(float* values, int count, int rounds) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    float value = values[i];
    for (int k = 0; k < rounds; ++k) value = value * 0.9999F + 0.25F;
    values[i] = value;
  }
}

// One launch of as many blocks as there is room for, which does all the work there is.
void PersistentKernel() {
  constexpr int kCount = 1 << 26;
  float* values = OnDevice(kCount);
  Persistent<<<132 * 8, 256>>>(values, kCount, 60'000);
  CHECK(cudaDeviceSynchronize());
}

__global__ void FindPivot(const float* column, int* pivot, int count) {
  int best = 0;
  for (int i = 1; i < count; ++i) {
    if (column[i] > column[best]) best = i;
  }
  *pivot = best;
}

// Elimination, whose pivot is looked for by one thread.
void PivotByOneThread() {
  constexpr int kSize = 2048;
  float* matrix = OnDevice(size_t(kSize) * kSize);
  int* pivot = OnDevice<int>(1);
  for (int k = 0; k < 1000; ++k) {
    FindPivot<<<1, 1>>>(matrix + size_t(k) * kSize, pivot, kSize);
    Iterate<<<kSize * kSize / 256, 256>>>(matrix, kSize * kSize, 100);
  }
  CHECK(cudaDeviceSynchronize());
}

// A file arrives in chunks of 4 KiB, and each of them is sent on by a copy of its own.
void ChunksOfFourKilobytes() {
  constexpr int kChunks = 10'000, kChunk = 1024;
  float *host = Pinned(size_t(kChunks) * kChunk), *device = OnDevice(size_t(kChunks) * kChunk);
  cudaStream_t stream{};
  CHECK(cudaStreamCreate(&stream));
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < kChunks; ++i) {
      CHECK(cudaMemcpyAsync(device + i * kChunk, host + i * kChunk, kChunk * 4, cudaMemcpyHostToDevice, stream));
    }
    Iterate<<<kChunks * kChunk / 256, 256, 0, stream>>>(device, kChunks * kChunk, 100);
  }
  CHECK(cudaStreamSynchronize(stream));
}

__global__ void Stencil(const float* from, float* to, int size) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, z = blockIdx.z;
  if (x < 1 || y < 1 || z < 1 || x >= size - 1 || y >= size - 1 || z >= size - 1) return;
  const size_t plane = size_t(size) * size, i = z * plane + size_t(y) * size + x;
  to[i] = 0.4F * from[i] +
          0.1F * (from[i - 1] + from[i + 1] + from[i - size] + from[i + size] + from[i - plane] + from[i + plane]);
}

// A grid of 512 cubed, 800 time steps, nothing else.
void StencilInThreeDimensions() {
  constexpr int kSize = 512;
  const size_t count = size_t(kSize) * kSize * kSize;
  float *a = OnDevice(count), *b = OnDevice(count);
  for (int i = 0; i < 800; ++i) {
    Stencil<<<dim3(kSize / 64, kSize / 4, kSize), dim3(64, 4)>>>(a, b, kSize);
    std::swap(a, b);
  }
  CHECK(cudaDeviceSynchronize());
}

// Each task makes a stream, an event and a buffer for itself, and takes them down again.
void StreamsMadeForEachTask() {
  constexpr int kCount = 1 << 18;
  for (int task = 0; task < 1500; ++task) {
    cudaStream_t stream{};
    cudaEvent_t done{};
    float* values = nullptr;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaEventCreate(&done));
    CHECK(cudaMalloc(&values, kCount * 4));
    Iterate<<<kCount / 256, 256, 0, stream>>>(values, kCount, 300);
    CHECK(cudaEventRecord(done, stream));
    CHECK(cudaEventSynchronize(done));
    CHECK(cudaFree(values));
    CHECK(cudaEventDestroy(done));
    CHECK(cudaStreamDestroy(stream));
  }
}

const std::map<std::string, void (*)()> kVariants{
    {"wavefront_alignment", WavefrontAlignment},
    {"separable_convolution", SeparableConvolution},
    {"compaction_by_count", CompactionByCount},
    {"small_products_in_a_loop", SmallProductsInALoop},
    {"blocking_copies_in_two_streams", BlockingCopiesInTwoStreams},
    {"threads_in_the_default_stream", ThreadsInTheDefaultStream},
    {"input_read_over_the_bus", InputReadOverTheBus},
    {"results_after_each_step", ResultsAfterEachStep},
    {"random_numbers_of_the_host", RandomNumbersOfTheHost},
    {"pool_that_keeps_nothing", PoolThatKeepsNothing},
    {"each_kernel_timed_by_events", EachKernelTimedByEvents},
    {"persistent_kernel", PersistentKernel},
    {"pivot_by_one_thread", PivotByOneThread},
    {"chunks_of_four_kilobytes", ChunksOfFourKilobytes},
    {"stencil_in_three_dimensions", StencilInThreeDimensions},
    {"streams_made_for_each_task", StreamsMadeForEachTask},
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
