// A CUDA program (runtime API) that knows exactly what it did.
#include <cuda_runtime_api.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "facts.h"
#include "fake_kernel.h"

namespace {

const FakeKernel saxpy("_Z5saxpyifPfS_");
const FakeKernel reduce("_Z6reducePfS_i");

constexpr size_t kBytes = 8192;

struct Memory {
  void *device = nullptr, *other = nullptr, *pinned = nullptr;
  std::vector<char> pageable = std::vector<char>(kBytes, 'p');
};

void CopyAround(Memory& m, cudaStream_t stream) {
  CHECK(cudaMemcpy(m.device, m.pageable.data(), kBytes, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(m.pageable.data(), m.device, 100, cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpyAsync(m.device, m.pinned, 4000, cudaMemcpyHostToDevice, stream));
  CHECK(cudaMemcpyAsync(m.pinned, m.device, 3000, cudaMemcpyDeviceToHost, stream));
  CHECK(cudaMemcpyAsync(m.other, m.device, 2000, cudaMemcpyDeviceToDevice, stream));
  CHECK(cudaMemset(m.device, 7, 1000));
  CHECK(cudaMemsetAsync(m.other, 9, 500, stream));
  CHECK(cudaStreamSynchronize(stream));
}

void UseSecondDevice(Memory& m) {
  void* remote = nullptr;
  CHECK(cudaSetDevice(1));
  CHECK(cudaMalloc(&remote, kBytes));
  CHECK(cudaSetDevice(0));
  CHECK(cudaMemcpyPeerAsync(remote, 1, m.device, 0, 6000, nullptr));
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaSetDevice(1));
  CHECK(cudaFree(remote));
  CHECK(cudaSetDevice(0));
}

void UseGraph(Memory& m, cudaStream_t stream) {
  cudaGraph_t graph;
  cudaGraphNode_t node;
  cudaGraphExec_t exec;
  CHECK(cudaGraphCreate(&graph, 0));
  cudaKernelNodeParams kernel{};
  kernel.func = const_cast<FakeKernel*>(&reduce);
  kernel.gridDim = dim3(20);
  kernel.blockDim = dim3(64);
  CHECK(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &kernel));
  CHECK(cudaGraphAddMemcpyNode1D(&node, graph, nullptr, 0, m.other, m.device, 512, cudaMemcpyDeviceToDevice));
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  for (int i = 0; i < 3; ++i) CHECK(cudaGraphLaunch(exec, stream));
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
}

void UseEvents(cudaStream_t a, cudaStream_t b) {
  cudaEvent_t event;
  CHECK(cudaEventCreate(&event));
  CHECK(cudaEventRecord(event, a));
  CHECK(cudaStreamWaitEvent(b, event, 0));
  CHECK(cudaEventSynchronize(event));
  CHECK(cudaEventDestroy(event));
}

// Cheap calls that are left out by default, and calls that fail.
void QueryAndFail(Memory& m) {
  int device = 0;
  for (int i = 0; i < 10; ++i) CHECK(cudaGetDevice(&device));
  for (int i = 0; i < 5; ++i) static_cast<void>(cudaGetLastError());
  void* huge = nullptr;
  const int no_memory = cudaMalloc(&huge, size_t{1} << 50);
  const int bad_direction = cudaMemcpy(m.device, m.other, 16, cudaMemcpyHostToHost);
  static_cast<void>(cudaGetLastError());
  facts::Say(R"({"fact":"failures","cudaMalloc":%d,"cudaMemcpy":%d})", no_memory, bad_direction);
}

}  // namespace

int main() {
  Memory m;
  CHECK(cudaMalloc(&m.device, kBytes));
  CHECK(cudaMalloc(&m.other, kBytes));
  CHECK(cudaMallocHost(&m.pinned, kBytes));
  cudaStream_t a, b;
  CHECK(cudaStreamCreate(&a));
  CHECK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
  CopyAround(m, a);
  for (unsigned i = 0; i < 5; ++i) CHECK(saxpy.Launch(100 + i, 128, a, 256));
  for (int i = 0; i < 2; ++i) CHECK(reduce.Launch(50, 32, b));
  UseEvents(a, b);
  CHECK(cudaDeviceSynchronize());
  UseSecondDevice(m);
  UseGraph(m, a);
  QueryAndFail(m);
  CHECK(cudaStreamDestroy(a));
  CHECK(cudaStreamDestroy(b));
  CHECK(cudaFree(m.device));
  CHECK(cudaFree(m.other));
  CHECK(cudaFreeHost(m.pinned));
  CHECK(cudaDeviceSynchronize());
  facts::Say(R"({"fact":"me","pid":%d,"tid":%u,"a":%llu,"b":%llu})", static_cast<int>(getpid()), facts::Tid(),
             static_cast<unsigned long long>(reinterpret_cast<uintptr_t>(a)),
             static_cast<unsigned long long>(reinterpret_cast<uintptr_t>(b)));
  CHECK(cudaDeviceReset());
  return 7;
}
