// Kernels: names, streams, shapes, durations, graphs, threads.
#include <nvtx3/nvToolsExt.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <thread>
#include <vector>

#include "divide_by.h"
#include "empty.h"
#include "fill.h"
#include "known_facts/known_facts.h"
#include "partial_reduce.h"
#include "saxpy.h"
#include "single_thread_sum.h"
#include "spin.h"

namespace gprof::examples {
namespace {

constexpr std::size_t kCount = 10000;
constexpr unsigned kBlocks = 20;

void* Allocate(Facts& facts, std::size_t bytes) {
  void* memory = nullptr;
  COUNTED_CALL(facts, cudaMalloc, &memory, bytes);
  return memory;
}

std::string Size(dim3 size) {
  return std::to_string(size.x) + "x" + std::to_string(size.y) + "x" + std::to_string(size.z);
}

}  // namespace

void LaunchKernels(Facts& facts, const NamedStreams& streams) {
  auto* x = static_cast<float*>(Allocate(facts, kCount * sizeof(float)));
  auto* y = static_cast<float*>(Allocate(facts, kCount * sizeof(float)));
  auto* sums = static_cast<float*>(Allocate(facts, kBlocks * sizeof(float)));
  auto* sum = static_cast<float*>(Allocate(facts, sizeof(float)));
  const cudaStream_t stream = streams.blocking;
  CountLaunch(facts, kernels::Fill(stream, x, kCount, 2.0f), "FillKernel", kBlocking);
  CountLaunch(facts, kernels::Fill(stream, y, kCount, 1.0f), "FillKernel", kBlocking);
  for (int i = 0; i < 7; ++i) {
    CountLaunch(facts, kernels::Saxpy(stream, 0.5f, x, y, kCount), "SaxpyKernel", kBlocking);
  }
  CountLaunch(facts, kernels::PartialReduce(stream, y, kCount, sums, kBlocks), "PartialReduceKernel", kBlocking);
  CountLaunch(facts, kernels::SingleThreadSum(stream, sums, kBlocks, sum), "SingleThreadSumKernel", kBlocking);
  CountLaunch(facts, kernels::DivideBy(stream, y, kCount, sum), "DivideByKernel", kBlocking);
  for (int i = 0; i < 300; ++i) CountLaunch(facts, kernels::Empty(nullptr), "EmptyKernel", kDefaultStream);
  for (int i = 0; i < 200; ++i) CountLaunch(facts, kernels::Empty(streams.non_blocking), "EmptyKernel", kNonBlocking);
  for (int i = 0; i < 100; ++i) CountLaunch(facts, kernels::Empty(streams.high_priority), "EmptyKernel", kHighPriority);
  for (void* memory : {x, y, sums, sum}) COUNTED_CALL(facts, cudaFree, memory);
}

void LaunchShapes(Facts& facts, const NamedStreams& streams) {
  struct Shape {
    dim3 grid, block;
    std::size_t shared_bytes;
    int launches;
  };
  const Shape shapes[] = {
      {dim3(3, 5, 7), dim3(8, 4, 2), 0, 3}, {dim3(11), dim3(96), 4096, 5}, {dim3(1, 9), dim3(1), 128, 2}};
  for (const Shape& shape : shapes) {
    for (int i = 0; i < shape.launches; ++i) {
      const cudaError_t error = kernels::Empty(streams.non_blocking, shape.grid, shape.block, shape.shared_bytes);
      CountLaunch(facts, error, "EmptyKernel", kNonBlocking);
    }
    const std::string item = Size(shape.grid) + "/" + Size(shape.block) + "/" + std::to_string(shape.shared_bytes);
    facts.AddCount("shapes", item, shape.launches);
  }
}

// Long kernels between two events: what the events say and what the trace says must agree.
void LaunchTimedKernels(Facts& facts, const NamedStreams& streams) {
  constexpr std::int64_t kCycles = 40'000'000;
  constexpr unsigned kThreads = 64;
  cudaEvent_t before = nullptr, after = nullptr;
  COUNTED_QUERY(facts, cudaEventCreate, &before);
  COUNTED_QUERY(facts, cudaEventCreate, &after);
  // Loads the kernel, so that the events stand close to the ones that count. 32 threads set it apart from those.
  CountLaunch(facts, kernels::Spin(streams.non_blocking, 1000), "SpinKernel", kNonBlocking);
  for (int i = 0; i < 5; ++i) {
    COUNTED_CALL(facts, cudaEventRecord, before, streams.non_blocking);
    CountLaunch(facts, kernels::Spin(streams.non_blocking, kCycles, 1, kThreads), "SpinKernel", kNonBlocking);
    COUNTED_CALL(facts, cudaEventRecord, after, streams.non_blocking);
    COUNTED_CALL(facts, cudaEventSynchronize, after);
    facts.AddCount("syncs", "event");
    float elapsed_ms = 0;
    COUNTED_QUERY(facts, cudaEventElapsedTime, &elapsed_ms, before, after);
    facts.AddCount("timed_kernels", "64 threads");
    facts.Add("timed_kernels", "64 threads", "event_ns", std::llround(double{elapsed_ms} * 1e6));
  }
  COUNTED_QUERY(facts, cudaEventDestroy, before);
  COUNTED_QUERY(facts, cudaEventDestroy, after);
}

void LaunchGraph(Facts& facts, const NamedStreams& streams) {
  constexpr int kKernelNodes = 9, kLaunches = 4;
  constexpr std::size_t kBytes = 8192;
  void* memory = Allocate(facts, kBytes);
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  const cudaStream_t stream = streams.non_blocking;
  // What is captured does not run: it counts as calls, not as GPU work.
  COUNTED_CALL(facts, cudaStreamBeginCapture, stream, cudaStreamCaptureModeThreadLocal);
  COUNTED_CALL(facts, cudaMemsetAsync, memory, 1, kBytes, stream);
  for (int i = 0; i < kKernelNodes; ++i) {
    Check(kernels::Empty(stream));
    facts.AddCount("api", "cudaLaunchKernel");
  }
  COUNTED_CALL(facts, cudaStreamEndCapture, stream, &graph);
  COUNTED_CALL(facts, cudaGraphInstantiateWithFlags, &executable, graph, 0);
  for (int i = 0; i < kLaunches; ++i) COUNTED_CALL(facts, cudaGraphLaunch, executable, stream);
  COUNTED_CALL(facts, cudaStreamSynchronize, stream);
  facts.AddCount("syncs", "stream");
  facts.AddCount("graphs", "launches", kLaunches);
  facts.AddCount("graphs", "kernel_nodes", kKernelNodes);
  facts.AddCount("graphs", "memset_nodes", 1);
  facts.Add("graphs", "memset_nodes", "bytes", kBytes);
  COUNTED_CALL(facts, cudaGraphExecDestroy, executable);
  COUNTED_CALL(facts, cudaGraphDestroy, graph);
  COUNTED_CALL(facts, cudaFree, memory);
}

namespace {

constexpr int kThreads = 4, kLaunchesPerThread = 50;

void RunThread(Facts& facts, int number) {
  const std::string name = "facts thread " + std::to_string(number);
  nvtxNameOsThreadA(static_cast<std::uint32_t>(syscall(SYS_gettid)), name.c_str());
  facts.AddCount("thread_names", name);
  cudaStream_t stream = nullptr;
  COUNTED_CALL(facts, cudaStreamCreateWithFlags, &stream, cudaStreamNonBlocking);
  facts.Add("streams", "of threads", "created", 1);
  facts.Add("streams", "of threads", "non_blocking", 1);
  for (int i = 0; i < kLaunchesPerThread; ++i) {
    nvtxRangePushA("thread work");
    CountLaunch(facts, kernels::Empty(stream), "EmptyKernel", "of threads");
    nvtxRangePop();
    facts.AddCount("nvtx", "push_pop");
    facts.AddCount("nvtx_ranges", "|thread work");
    facts.Add("threads", name, "launches", 1);
  }
  COUNTED_CALL(facts, cudaStreamSynchronize, stream);
  facts.AddCount("syncs", "stream");
  COUNTED_CALL(facts, cudaStreamDestroy, stream);
}

}  // namespace

void RunThreads(Facts& facts) {
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back([&facts, i] { RunThread(facts, i); });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace gprof::examples
