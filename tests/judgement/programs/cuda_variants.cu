// CUDA programs with one thing done wrong, and the same with that mended: corpus.json and interventions.py say which is
// which.
//
//   cuda_variants VARIANT [--steps N]                   runs the loop between cudaProfilerStart and cudaProfilerStop
//   cuda_variants VARIANT --beside FIXED --repeats N    times both in turn and prints the seconds as JSON
//   cuda_variants VARIANT ... --lock FILE               waits for this file's lock before it uses the GPU
#include <cuda_profiler_api.h>
#include <cuda_runtime.h>
#include <fcntl.h>
#include <sys/file.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <utility>
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

constexpr int kWarmUp = 3;
constexpr size_t kMiB = 1 << 20;

// Runs the steps of a variant: a few to warm up, then those that are recorded or timed.
class Loop {
 public:
  explicit Loop(int steps) : steps_(steps) {}

  void operator()(int steps, const std::function<void(int)>& step) {
    for (int i = 0; i < kWarmUp; ++i) step(i);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaProfilerStart());
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < (steps_ > 0 ? steps_ : steps); ++i) step(i);
    CHECK(cudaDeviceSynchronize());
    seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    CHECK(cudaProfilerStop());
  }

  double seconds = 0;

 private:
  int steps_;
};

// ---- memory that is freed at the end of a variant ----

enum class Where { kDevice, kManaged, kPinned, kPageable };

class Buffer {
 public:
  Buffer(Where where, size_t bytes) : bytes(bytes), where_(where) {
    if (where == Where::kDevice) CHECK(cudaMalloc(&data_, bytes));
    if (where == Where::kManaged) CHECK(cudaMallocManaged(&data_, bytes));
    if (where == Where::kPinned) CHECK(cudaMallocHost(&data_, bytes));
    if (where == Where::kPageable) data_ = std::malloc(bytes);
    if (where == Where::kDevice) {
      CHECK(cudaMemset(data_, 0, bytes));
    } else {
      std::memset(data_, 0, bytes);
    }
  }
  Buffer(Buffer&& other) noexcept
      : bytes(other.bytes), where_(other.where_), data_(std::exchange(other.data_, nullptr)) {}
  Buffer& operator=(Buffer&&) = delete;
  ~Buffer() {
    if (where_ == Where::kPageable) {
      std::free(data_);
    } else if (where_ == Where::kPinned) {
      cudaFreeHost(data_);
    } else {
      cudaFree(data_);
    }
  }
  operator float*() const { return static_cast<float*>(data_); }
  size_t count() const { return bytes / sizeof(float); }
  const size_t bytes;

 private:
  Where where_;
  void* data_ = nullptr;
};

class Streams {
 public:
  explicit Streams(int count) : all_(count) {
    for (cudaStream_t& stream : all_) CHECK(cudaStreamCreate(&stream));
  }
  Streams(const Streams&) = delete;
  ~Streams() {
    for (cudaStream_t stream : all_) cudaStreamDestroy(stream);
  }
  cudaStream_t operator[](size_t i) const { return all_[i % all_.size()]; }

 private:
  std::vector<cudaStream_t> all_;
};

// ---- kernels ----

__global__ void Scale(float* values, size_t count, int rounds) {
  for (size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x; i < count;
       i += static_cast<size_t>(gridDim.x) * blockDim.x) {
    float value = values[i];
    for (int round = 0; round < rounds; ++round) value = value * 1.0001F + 0.5F;
    values[i] = value;
  }
}

__global__ void WaitForFlag(volatile int* flag, int wanted) {
  while (*flag < wanted) {
  }
}

__global__ void SetFlag(volatile int* flag, int value) { *flag = value; }

// Kernels of which each is loaded when it is launched for the first time.
template <int kNumber>
__global__ void Numbered(float* values) {
  float value = values[threadIdx.x];
#pragma unroll
  for (int i = 0; i < 40 + kNumber; ++i) value = __sinf(value) * (kNumber + i) + __expf(value);
  values[threadIdx.x] = value;
}

template <int kNumber>
void LaunchAllNumbered(float* values) {
  Numbered<kNumber><<<1, 256>>>(values);
  if constexpr (kNumber > 0) LaunchAllNumbered<kNumber - 1>(values);
}

void ScaleBy(const Buffer& buffer, int rounds, cudaStream_t stream = nullptr, int blocks = 1056, int threads = 256) {
  Scale<<<blocks, threads, 0, stream>>>(buffer, buffer.count(), rounds);
}

// ---- variants ----

// The host fills a managed buffer in each step, and the GPU takes page after page from it.
void ManagedEachStep(Loop& loop) {
  Buffer values(Where::kManaged, 16 * kMiB);
  loop(20, [&](int i) {
    for (size_t k = 0; k < values.count(); k += 256) values[k] = static_cast<float>(i);
    ScaleBy(values, 20);
    CHECK(cudaDeviceSynchronize());
  });
}

void ManagedPrefetched(Loop& loop) {
  Buffer values(Where::kManaged, 16 * kMiB);
  cudaMemLocation gpu{}, host{};
  gpu.type = cudaMemLocationTypeDevice;
  host.type = cudaMemLocationTypeHost;
  loop(20, [&](int i) {
    for (size_t k = 0; k < values.count(); k += 256) values[k] = static_cast<float>(i);
    CHECK(cudaMemPrefetchAsync(values, values.bytes, gpu, 0, nullptr));
    ScaleBy(values, 20);
    CHECK(cudaMemPrefetchAsync(values, values.bytes, host, 0, nullptr));
    CHECK(cudaDeviceSynchronize());
  });
}

// One kernel waits for a flag that another one sets when its work is done.
void SpinForFlag(Loop& loop) {
  Buffer values(Where::kDevice, 256 * kMiB), flag(Where::kDevice, 256);
  Streams streams(2);
  int* const where = reinterpret_cast<int*>(static_cast<float*>(flag));
  int turn = 0;
  loop(40, [&](int) {
    ++turn;
    ScaleBy(values, 200, streams[0]);
    SetFlag<<<1, 1, 0, streams[0]>>>(where, turn);
    WaitForFlag<<<1, 32, 0, streams[1]>>>(where, turn);
  });
}

void RoundTripPinned(Loop& loop) {
  Buffer values(Where::kDevice, 128 * kMiB), host(Where::kPinned, 128 * kMiB);
  loop(30, [&](int) {
    ScaleBy(values, 20);
    CHECK(cudaMemcpyAsync(host, values, values.bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpyAsync(values, host, values.bytes, cudaMemcpyHostToDevice));
  });
}

void RoundTripKept(Loop& loop) {
  Buffer values(Where::kDevice, 128 * kMiB);
  loop(30, [&](int) { ScaleBy(values, 20); });
}

void SmallCopies(Loop& loop) {
  Buffer values(Where::kDevice, 4 * kMiB), host(Where::kPinned, 256 * 1024);
  loop(20, [&](int) {
    for (size_t k = 0; k < 1000; ++k)
      CHECK(cudaMemcpyAsync(values + k * 64, host + k * 64, 256, cudaMemcpyHostToDevice));
    ScaleBy(values, 20);
  });
}

void SmallCopiesInOne(Loop& loop) {
  Buffer values(Where::kDevice, 4 * kMiB), host(Where::kPinned, 256 * 1024);
  loop(20, [&](int) {
    CHECK(cudaMemcpyAsync(values, host, 256'000, cudaMemcpyHostToDevice));
    ScaleBy(values, 20);
  });
}

void MallocEachStep(Loop& loop) {
  loop(100, [&](int) {
    Buffer values(Where::kDevice, 64 * kMiB);
    ScaleBy(values, 100);
  });
}

void MallocOnce(Loop& loop) {
  Buffer values(Where::kDevice, 64 * kMiB);
  loop(100, [&](int) {
    CHECK(cudaMemset(values, 0, values.bytes));
    ScaleBy(values, 100);
  });
}

// Copies in, a kernel, copies out: pinned, in one stream.
void CopiesInLine(Loop& loop) {
  constexpr int kParts = 8;
  Buffer host(Where::kPinned, kParts * 16 * kMiB);
  std::vector<Buffer> parts;
  for (int k = 0; k < kParts; ++k) parts.emplace_back(Where::kDevice, 16 * kMiB);
  Streams streams(1);
  loop(20, [&](int) {
    for (size_t k = 0; k < kParts; ++k) {
      CHECK(cudaMemcpyAsync(parts[k], host + k * parts[k].count(), parts[k].bytes, cudaMemcpyHostToDevice, streams[0]));
      ScaleBy(parts[k], 1500, streams[0]);
    }
  });
}

void CopiesOverlapped(Loop& loop) {
  constexpr int kParts = 8;
  Buffer host(Where::kPinned, kParts * 16 * kMiB);
  std::vector<Buffer> parts;
  for (int k = 0; k < kParts; ++k) parts.emplace_back(Where::kDevice, 16 * kMiB);
  Streams streams(2);
  loop(20, [&](int) {
    for (size_t k = 0; k < kParts; ++k) {
      CHECK(cudaMemcpyAsync(parts[k], host + k * parts[k].count(), parts[k].bytes, cudaMemcpyHostToDevice, streams[k]));
      ScaleBy(parts[k], 1500, streams[k]);
    }
  });
}

// Work on parts in six streams, of which pageable copies let one run at a time.
void SixStreams(Loop& loop, Where where) {
  constexpr size_t kParts = 6;
  Buffer host(where, kParts * 16 * kMiB);
  std::vector<Buffer> parts;
  for (size_t k = 0; k < kParts; ++k) parts.emplace_back(Where::kDevice, 16 * kMiB);
  Streams streams(kParts);
  loop(15, [&](int) {
    for (size_t k = 0; k < kParts; ++k) {
      float* const mine = host + k * parts[k].count();
      CHECK(cudaMemcpyAsync(parts[k], mine, parts[k].bytes, cudaMemcpyHostToDevice, streams[k]));
      ScaleBy(parts[k], 200, streams[k]);
      CHECK(cudaMemcpyAsync(mine, parts[k], parts[k].bytes, cudaMemcpyDeviceToHost, streams[k]));
    }
    CHECK(cudaDeviceSynchronize());
  });
}

void SixStreamsPageable(Loop& loop) { SixStreams(loop, Where::kPageable); }
void SixStreamsPinned(Loop& loop) { SixStreams(loop, Where::kPinned); }

void FewBlocks(Loop& loop) {
  Buffer values(Where::kDevice, 16 * kMiB);
  loop(40, [&](int) { ScaleBy(values, 50, nullptr, 8, 256); });
}

void EnoughBlocks(Loop& loop) {
  Buffer values(Where::kDevice, 16 * kMiB);
  loop(40, [&](int) { ScaleBy(values, 50); });
}

void BlocksOf16(Loop& loop) {
  Buffer values(Where::kDevice, 64 * kMiB);
  loop(60, [&](int) { ScaleBy(values, 50, nullptr, 1 << 20, 16); });
}

void BlocksOf256(Loop& loop) {
  Buffer values(Where::kDevice, 64 * kMiB);
  loop(60, [&](int) { ScaleBy(values, 50, nullptr, 1 << 16, 256); });
}

// Kernels of two microseconds, one launch after the other.
void TinyKernels(Loop& loop) {
  Buffer values(Where::kDevice, 16 * 1024);
  loop(200, [&](int) {
    for (int k = 0; k < 50; ++k) ScaleBy(values, 1, nullptr, 16, 256);
  });
}

void TinyKernelsGraph(Loop& loop) {
  Buffer values(Where::kDevice, 16 * 1024);
  Streams streams(1);
  CHECK(cudaStreamBeginCapture(streams[0], cudaStreamCaptureModeGlobal));
  for (int k = 0; k < 50; ++k) ScaleBy(values, 1, streams[0], 16, 256);
  cudaGraph_t graph{};
  cudaGraphExec_t executable{};
  CHECK(cudaStreamEndCapture(streams[0], &graph));
  CHECK(cudaGraphInstantiate(&executable, graph, 0));
  loop(200, [&](int) { CHECK(cudaGraphLaunch(executable, streams[0])); });
  CHECK(cudaGraphExecDestroy(executable));
  CHECK(cudaGraphDestroy(graph));
}

void SyncEachKernel(Loop& loop) {
  Buffer values(Where::kDevice, 4 * kMiB);
  loop(100, [&](int) {
    for (int k = 0; k < 20; ++k) {
      ScaleBy(values, 100);
      CHECK(cudaDeviceSynchronize());
    }
  });
}

void SyncAtTheEnd(Loop& loop) {
  Buffer values(Where::kDevice, 4 * kMiB);
  loop(100, [&](int) {
    for (int k = 0; k < 20; ++k) ScaleBy(values, 100);
    CHECK(cudaDeviceSynchronize());
  });
}

// A small kernel in the legacy default stream between kernels of two streams, each of which fills a part of the GPU.
void TwoStreams(Loop& loop, bool with_default_stream) {
  Buffer first(Where::kDevice, 8 * kMiB), second(Where::kDevice, 8 * kMiB), small(Where::kDevice, 4096);
  Streams streams(2);
  loop(60, [&](int) {
    ScaleBy(first, 100, streams[0], 40, 256);
    ScaleBy(small, 1, with_default_stream ? nullptr : streams[0], 1, 32);
    ScaleBy(second, 100, streams[1], 40, 256);
    ScaleBy(small, 1, with_default_stream ? nullptr : streams[1], 1, 32);
  });
}

void DefaultStreamBetween(Loop& loop) { TwoStreams(loop, true); }
void NoDefaultStream(Loop& loop) { TwoStreams(loop, false); }

// Blocks of pageable memory go to the GPU in each step.
void PageableInput(Loop& loop) {
  Buffer host(Where::kPageable, 64 * kMiB), values(Where::kDevice, 64 * kMiB);
  loop(25, [&](int) {
    CHECK(cudaMemcpy(values, host, values.bytes, cudaMemcpyHostToDevice));
    ScaleBy(values, 400);
  });
}

void PinnedInput(Loop& loop) {
  Buffer host(Where::kPinned, 64 * kMiB), values(Where::kDevice, 64 * kMiB);
  loop(25, [&](int) {
    CHECK(cudaMemcpyAsync(values, host, values.bytes, cudaMemcpyHostToDevice));
    ScaleBy(values, 400);
  });
}

// 160 kernels, each launched a few times in all: most of the run is spent to load them.
void FirstLaunches(Loop& loop) {
  Buffer values(Where::kDevice, 4096);
  static_cast<void>(loop);
  CHECK(cudaProfilerStart());
  for (int i = 0; i < 3; ++i) LaunchAllNumbered<159>(values);
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaProfilerStop());
}

const std::map<std::string, void (*)(Loop&)>& Variants() {
  static const std::map<std::string, void (*)(Loop&)> all{
      {"managed_each_step", ManagedEachStep},
      {"managed_prefetched", ManagedPrefetched},
      {"spin_for_flag", SpinForFlag},
      {"round_trip_pinned", RoundTripPinned},
      {"round_trip_kept", RoundTripKept},
      {"small_copies", SmallCopies},
      {"small_copies_in_one", SmallCopiesInOne},
      {"malloc_each_step", MallocEachStep},
      {"malloc_once", MallocOnce},
      {"copies_in_line", CopiesInLine},
      {"copies_overlapped", CopiesOverlapped},
      {"six_streams_pageable", SixStreamsPageable},
      {"six_streams_pinned", SixStreamsPinned},
      {"few_blocks", FewBlocks},
      {"enough_blocks", EnoughBlocks},
      {"blocks_of_16", BlocksOf16},
      {"blocks_of_256", BlocksOf256},
      {"tiny_kernels", TinyKernels},
      {"tiny_kernels_graph", TinyKernelsGraph},
      {"sync_each_kernel", SyncEachKernel},
      {"sync_at_the_end", SyncAtTheEnd},
      {"default_stream_between", DefaultStreamBetween},
      {"no_default_stream", NoDefaultStream},
      {"pageable_input", PageableInput},
      {"pinned_input", PinnedInput},
      {"first_launches", FirstLaunches},
  };
  return all;
}

double SecondsOf(const std::string& name, int steps) {
  const auto found = Variants().find(name);
  if (found == Variants().end()) {
    std::fprintf(stderr, "no variant '%s'\n", name.c_str());
    std::exit(2);
  }
  Loop loop(steps);
  found->second(loop);
  return loop.seconds;
}

void Compare(const std::string& spoiled, const std::string& fixed, int repeats, int steps) {
  std::string all[2];
  for (int i = 0; i <= repeats; ++i) {
    for (int which = 0; which < 2; ++which) {
      const double seconds = SecondsOf(which == 0 ? spoiled : fixed, steps);
      if (i == 0) continue;  // what comes once
      all[which] += (i == 1 ? "" : ", ") + std::to_string(seconds);
    }
  }
  std::printf("{\"spoiled\": [%s], \"fixed\": [%s]}\n", all[0].c_str(), all[1].c_str());
}

void Lock(const char* path) {
  const int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (file < 0 || flock(file, LOCK_EX) != 0) std::exit(3);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    for (const auto& [name, function] : Variants()) std::printf("%s\n", name.c_str());
    return 0;
  }
  std::map<std::string, std::string> options;
  for (int i = 2; i + 1 < argc; i += 2) options[argv[i]] = argv[i + 1];
  if (options.contains("--lock")) Lock(options["--lock"].c_str());
  const int steps = std::atoi(options["--steps"].c_str());
  if (options.contains("--beside")) {
    Compare(argv[1], options["--beside"], std::atoi(options["--repeats"].c_str()), steps);
  } else {
    SecondsOf(argv[1], steps);
  }
  return 0;
}
