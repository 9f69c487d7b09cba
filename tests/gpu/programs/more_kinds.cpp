// Work that is recorded only when asked for, or in a record of its own. usage: gpu_more_kinds WHAT
// What was done is printed as one JSON object.
//   memory   blocks of known sizes by every allocator     managed  pages that the GPU and the host touch in turn
//   events   events recorded in two streams               graph    graphs whose nodes come from two NVTX ranges
//   host     functions of the host in a stream            streams  streams with priorities and names
#include <cuda_runtime_api.h>
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCudaRt.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "common/cuda_check.h"
#include "empty.h"
#include "fill.h"
#include "spin.h"

namespace {

using gprof::examples::Check;

cudaStream_t NewStream(int priority = 0) {
  cudaStream_t stream = nullptr;
  Check(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, priority));
  return stream;
}

void Memory() {
  constexpr std::size_t kBlock = 3 << 20, kPooled = 2 << 20, kPinned = 64 << 10;
  constexpr int kBlocks = 4, kPooledBlocks = 6;
  const cudaStream_t stream = NewStream();
  std::vector<void*> blocks(kBlocks);
  for (void*& block : blocks) Check(cudaMalloc(&block, kBlock));
  for (int i = 0; i < kPooledBlocks; ++i) {
    void* pooled = nullptr;
    Check(cudaMallocAsync(&pooled, kPooled, stream));
    Check(cudaFreeAsync(pooled, stream));
  }
  void* pinned = nullptr;
  Check(cudaMallocHost(&pinned, kPinned));
  Check(cudaStreamSynchronize(stream));
  Check(cudaFreeHost(pinned));
  for (void* block : blocks) Check(cudaFree(block));
  std::printf(R"({"block_bytes":%zu,"blocks":%d,"pooled_bytes":%zu,"pooled":%d,"pinned_bytes":%zu})"
              "\n",
              kBlock, kBlocks, kPooled, kPooledBlocks, kPinned);
}

void Managed() {
  constexpr std::size_t kBytes = 16 << 20, kPage = 4096;
  constexpr int kRounds = 3;
  const cudaStream_t stream = NewStream();
  void* memory = nullptr;
  Check(cudaMallocManaged(&memory, kBytes));
  float* const values = static_cast<float*>(memory);
  std::memset(values, 0, kBytes);
  double sum = 0;
  for (int round = 0; round < kRounds; ++round) {
    Check(gprof::kernels::Fill(stream, values, kBytes / sizeof(float), static_cast<float>(round)));
    Check(cudaStreamSynchronize(stream));
    for (std::size_t i = 0; i < kBytes / sizeof(float); i += kPage / sizeof(float))
      sum += static_cast<double>(values[i]);
  }
  Check(cudaFree(values));
  std::printf(R"({"bytes":%zu,"rounds":%d,"sum":%.0f})"
              "\n",
              kBytes, kRounds, sum);
}

void Events() {
  constexpr int kEach = 20;
  const cudaStream_t streams[] = {NewStream(), NewStream()};
  cudaEvent_t event = nullptr;
  Check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  for (int i = 0; i < kEach; ++i) {
    for (const cudaStream_t stream : streams) {
      Check(gprof::kernels::Empty(stream));
      Check(cudaEventRecord(event, stream));
    }
  }
  Check(cudaDeviceSynchronize());
  std::printf(R"({"events":%d,"streams":2})"
              "\n",
              2 * kEach);
}

void Graph() {
  constexpr int kPrepare = 3, kCompute = 5, kLaunches = 4;
  const cudaStream_t stream = NewStream();
  Check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  nvtxRangePushA("prepare");
  for (int i = 0; i < kPrepare; ++i) Check(gprof::kernels::Spin(stream, 1000));
  nvtxRangePop();
  nvtxRangePushA("compute");
  for (int i = 0; i < kCompute; ++i) Check(gprof::kernels::Empty(stream));
  nvtxRangePop();
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  Check(cudaStreamEndCapture(stream, &graph));
  Check(cudaGraphInstantiate(&exec, graph, 0));
  nvtxRangePushA("replay");
  for (int i = 0; i < kLaunches; ++i) Check(cudaGraphLaunch(exec, stream));
  Check(cudaStreamSynchronize(stream));
  nvtxRangePop();
  std::printf(R"({"prepare":%d,"compute":%d,"launches":%d})"
              "\n",
              kPrepare, kCompute, kLaunches);
}

void Host() {
  constexpr int kCalls = 7;
  const cudaStream_t stream = NewStream();
  int ran = 0;
  for (int i = 0; i < kCalls; ++i) {
    Check(gprof::kernels::Empty(stream));
    Check(cudaLaunchHostFunc(
        stream, [](void* count) { ++*static_cast<int*>(count); }, &ran));
  }
  Check(cudaStreamSynchronize(stream));
  std::printf(R"({"calls":%d,"ran":%d})"
              "\n",
              kCalls, ran);
}

void Streams() {
  int least = 0, greatest = 0;
  Check(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  const cudaStream_t low = NewStream(least), high = NewStream(greatest);
  nvtxNameCudaStreamA(low, "low");
  nvtxNameCudaStreamA(high, "high");
  for (const cudaStream_t stream : {low, high}) Check(gprof::kernels::Empty(stream));
  Check(cudaDeviceSynchronize());
  std::printf(R"({"low":%d,"high":%d})"
              "\n",
              least, greatest);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "memory")
    Memory();
  else if (what == "managed")
    Managed();
  else if (what == "events")
    Events();
  else if (what == "graph")
    Graph();
  else if (what == "host")
    Host();
  else if (what == "streams")
    Streams();
  else
    return 2;
  return 3;
}
