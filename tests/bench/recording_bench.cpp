// What one traced operation costs the program: every loop issues it back to back and ends with a synchronisation of the
// device, so that waiting for a full queue is part of it. Kernels are empty.
#include <cuda_runtime_api.h>
#include <nvtx3/nvToolsExt.h>

#include <thread>
#include <vector>

#include "common/arguments.h"
#include "common/cuda_memory.h"
#include "empty.h"
#include "nvtx_bench.h"

using namespace gprof::bench;
using gprof::examples::Check;

namespace {

constexpr std::size_t kCopyBytes = 4096;
constexpr std::size_t kBlockBytes = 1 << 20;
constexpr std::size_t kGraphNodes = 100;
constexpr std::size_t kThreads = 4;

void Settle() { Check(cudaDeviceSynchronize()); }

void Launch(cudaStream_t stream, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) Check(gprof::kernels::Empty(stream));
}

void MeasureLaunches(Samples& samples, std::size_t count) {
  const gprof::examples::Streams streams(kThreads);
  samples.Measure(
      "launch", count, [&](std::size_t n) { Launch(streams[0], n); }, Settle);
  const auto in_threads = [&](std::size_t n) {
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < kThreads; ++t) threads.emplace_back([&, t] { Launch(streams[t], n / kThreads); });
    for (std::thread& thread : threads) thread.join();
  };
  samples.Measure("launch_4_threads", count, in_threads, Settle);
  const auto with_sync = [&](std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
      Launch(streams[0], 1);
      Check(cudaStreamSynchronize(streams[0]));
    }
  };
  samples.Measure("launch_and_stream_sync", count / 10, with_sync, Settle);
}

void MeasureCopies(Samples& samples, std::size_t count) {
  const gprof::examples::Streams streams(1);
  const gprof::examples::DeviceArray<char> device(kCopyBytes);
  gprof::examples::PinnedArray<char> pinned(kCopyBytes);
  std::vector<char> pageable(kCopyBytes);
  const auto copy_pinned = [&](std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
      Check(cudaMemcpyAsync(device.data(), pinned.data(), kCopyBytes, cudaMemcpyHostToDevice, streams[0]));
    }
  };
  samples.Measure("copy_pinned_4k_async", count / 2, copy_pinned, Settle);
  const auto copy_pageable = [&](std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
      Check(cudaMemcpy(device.data(), pageable.data(), kCopyBytes, cudaMemcpyHostToDevice));
    }
  };
  samples.Measure("copy_pageable_4k", count / 10, copy_pageable, Settle);
}

void MeasureGraph(Samples& samples, std::size_t count) {
  const gprof::examples::Streams streams(1);
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  Check(cudaStreamBeginCapture(streams[0], cudaStreamCaptureModeThreadLocal));
  Launch(streams[0], kGraphNodes);
  Check(cudaStreamEndCapture(streams[0], &graph));
  Check(cudaGraphInstantiateWithFlags(&executable, graph, 0));
  const auto launch = [&](std::size_t n) {
    for (std::size_t i = 0; i < n / kGraphNodes; ++i) Check(cudaGraphLaunch(executable, streams[0]));
  };
  samples.Measure("graph_node", count, launch, Settle);
  Check(cudaGraphExecDestroy(executable));
  Check(cudaGraphDestroy(graph));
}

void MeasureMemory(Samples& samples, std::size_t count) {
  const gprof::examples::Streams streams(1);
  const auto plain = [](std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
      void* memory = nullptr;
      Check(cudaMalloc(&memory, kBlockBytes));
      Check(cudaFree(memory));
    }
  };
  samples.Measure("malloc_and_free", count / 200, plain);
  const auto pooled = [&](std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
      void* memory = nullptr;
      Check(cudaMallocAsync(&memory, kBlockBytes, streams[0]));
      Check(cudaFreeAsync(memory, streams[0]));
    }
  };
  samples.Measure("malloc_and_free_async", count / 10, pooled, Settle);
}

// A page of managed memory goes to the GPU and comes back.
void MeasureManaged(Samples& samples, std::size_t count) {
  constexpr std::size_t kPageBytes = 4096;
  const gprof::examples::Streams streams(1);
  const std::size_t pages = count / 10;
  void* memory = nullptr;
  Check(cudaMallocManaged(&memory, pages * kPageBytes));
  auto* const bytes = static_cast<volatile char*>(memory);
  const auto touch = [&](std::size_t n) {
    Check(cudaMemsetAsync(memory, 1, n * kPageBytes, streams[0]));
    Check(cudaStreamSynchronize(streams[0]));
    for (std::size_t i = 0; i < n; ++i) bytes[i * kPageBytes] = 2;
  };
  samples.Measure("managed_page", pages, touch, Settle);
  Check(cudaFree(memory));
}

void MeasureQueries(Samples& samples, std::size_t count) {
  const gprof::examples::Streams streams(1);
  const auto query = [&](std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) Check(cudaStreamQuery(streams[0]));
  };
  samples.Measure("cudaStreamQuery", count, query);
  const auto get_device = [](std::size_t n) {
    int device = 0;
    for (std::size_t i = 0; i < n; ++i) Check(cudaGetDevice(&device));
  };
  samples.Measure("cudaGetDevice", count, get_device);
}

// What a training step does, in small: ranges around layers, forward and backward on two streams that wait for each
// other, a copy in, a fill, an update, and a wait for the GPU at its end.
class TrainingStep {
 public:
  static constexpr std::size_t kLayers = 8, kKernelsOfLayer = 3, kKernelsOfUpdate = 6;
  // Calls and their work on the GPU, pushes and pops. What waits is a call alone.
  static constexpr std::size_t kEvents =
      2 * (2 * kLayers * kKernelsOfLayer + kKernelsOfUpdate + 2) + 2 * (2 * kLayers + 4) + 3;

  TrainingStep() : streams_(2), batch_(kCopyBytes), pinned_(kCopyBytes) {
    Check(cudaEventCreateWithFlags(&forward_done_, cudaEventDisableTiming));
  }
  ~TrainingStep() { cudaEventDestroy(forward_done_); }
  TrainingStep(const TrainingStep&) = delete;
  TrainingStep& operator=(const TrainingStep&) = delete;

  void Run() {
    nvtxRangePushA("step");
    Check(cudaMemcpyAsync(batch_.data(), pinned_.data(), kCopyBytes, cudaMemcpyHostToDevice, streams_[0]));
    Layers("forward", streams_[0]);
    Check(cudaEventRecord(forward_done_, streams_[0]));
    Check(cudaStreamWaitEvent(streams_[1], forward_done_, 0));
    Check(cudaMemsetAsync(batch_.data(), 0, kCopyBytes, streams_[1]));
    Layers("backward", streams_[1]);
    nvtxRangePushA("update");
    Launch(streams_[1], kKernelsOfUpdate);
    nvtxRangePop();
    Check(cudaStreamSynchronize(streams_[1]));
    nvtxRangePop();
  }

 private:
  static void Layers(const char* phase, cudaStream_t stream) {
    nvtxRangePushA(phase);
    for (std::size_t layer = 0; layer < kLayers; ++layer) {
      nvtxRangePushA("layer");
      Launch(stream, kKernelsOfLayer);
      nvtxRangePop();
    }
    nvtxRangePop();
  }

  gprof::examples::Streams streams_;
  gprof::examples::DeviceArray<char> batch_;
  gprof::examples::PinnedArray<char> pinned_;
  cudaEvent_t forward_done_ = nullptr;
};

// In the time of one event, so that its count is one of events as well.
void MeasureTrainingSteps(Samples& samples, std::size_t count) {
  TrainingStep step;
  const auto steps = [&](std::size_t events) {
    for (std::size_t done = 0; done < events; done += TrainingStep::kEvents) step.Run();
  };
  samples.Measure("training_step_event", count, steps, Settle);
}

}  // namespace

int main(int argc, char** argv) {
  gprof::examples::Arguments arguments(argc, argv, "recording_bench [-n COUNT] [-r REPETITIONS] [--only NAMES]");
  const std::size_t count = arguments.Number("-n", 100'000, 1000);
  Samples samples(arguments.Number("-r", 3), arguments.Text("--only", ""));
  arguments.Finish();
  Check(cudaFree(nullptr));  // the context, before any clock runs
  MeasureLaunches(samples, count);
  MeasureCopies(samples, count);
  MeasureGraph(samples, count);
  MeasureTrainingSteps(samples, count);
  MeasureMemory(samples, count);
  MeasureManaged(samples, count);
  MeasureNvtx(samples, 5 * count);
  MeasureQueries(samples, 5 * count);
  samples.Print();
  return 0;
}
