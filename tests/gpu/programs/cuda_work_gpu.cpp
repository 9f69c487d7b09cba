#include <cuda_profiler_api.h>
#include <cuda_runtime_api.h>

#include "../../e2e/tracer/programs/cuda_work.h"
#include "empty.h"
#include "spin.h"

namespace cuda_work {
namespace {

constexpr long kLongCycles = 600'000'000;  // a third of a second at the clock of an H200
constexpr int kGraphNodes = 5;

cudaGraphExec_t graph_exec = nullptr;

cudaError_t MakeGraph() {
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  cudaError_t result = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  if (result == cudaSuccess) result = cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
  for (int i = 0; i < kGraphNodes && result == cudaSuccess; ++i) {
    result = gprof::kernels::Spin(stream, kLongCycles / kGraphNodes);
  }
  if (result == cudaSuccess) result = cudaStreamEndCapture(stream, &graph);
  return result != cudaSuccess ? result : cudaGraphInstantiate(&graph_exec, graph, 0);
}

}  // namespace

bool Open() { return cudaFree(nullptr) == cudaSuccess; }

int Launch() { return gprof::kernels::Empty(nullptr); }
int LaunchLong() { return gprof::kernels::Spin(nullptr, kLongCycles); }

int LaunchGraph() {
  static const cudaError_t made = MakeGraph();
  return made != cudaSuccess ? made : cudaGraphLaunch(graph_exec, nullptr);
}

int CapturedLaunches() { return kGraphNodes; }

int Synchronize() { return cudaDeviceSynchronize(); }

int Allocate(std::size_t bytes) {
  void* memory = nullptr;
  const cudaError_t result = cudaMalloc(&memory, bytes);
  return result != cudaSuccess ? result : cudaFree(memory);
}

int ProfilerStart() { return cudaProfilerStart(); }
int ProfilerStop() { return cudaProfilerStop(); }

}  // namespace cuda_work
