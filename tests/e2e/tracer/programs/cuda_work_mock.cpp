#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <cstdlib>

#include "cuda_work.h"

namespace cuda_work {
namespace {

constexpr unsigned kLongBlocks = 30000000;  // 300 ms on the double's device
constexpr int kGraphNodes = 5;

const char kernel_key = 0;
void* library = nullptr;
cudaGraphExec_t graph_exec = nullptr;

// The runtime is opened late, as programs do that work without CUDA too.
#define RUNTIME(name) reinterpret_cast<decltype(&name)>(dlsym(library, #name))

cudaError_t LaunchBlocks(unsigned blocks) {
  static const auto launch = reinterpret_cast<cudaError_t (*)(const void*, dim3, dim3, void**, size_t, cudaStream_t)>(
      dlsym(library, "cudaLaunchKernel"));
  return launch(&kernel_key, dim3(blocks), dim3(32), nullptr, 0, nullptr);
}

cudaError_t MakeGraph() {
  cudaGraph_t graph = nullptr;
  cudaError_t result = RUNTIME(cudaGraphCreate)(&graph, 0);
  cudaGraphNode_t last = nullptr;
  for (int i = 0; i < kGraphNodes && result == cudaSuccess; ++i) {
    cudaKernelNodeParams params = {};
    params.func = const_cast<char*>(&kernel_key);
    params.gridDim = dim3(kLongBlocks / kGraphNodes);
    params.blockDim = dim3(32);
    cudaGraphNode_t node = nullptr;
    result = RUNTIME(cudaGraphAddKernelNode)(&node, graph, last != nullptr ? &last : nullptr, last != nullptr, &params);
    last = node;
  }
  using Instantiate = cudaError_t (*)(cudaGraphExec_t*, cudaGraph_t, unsigned long long);
  const auto instantiate = reinterpret_cast<Instantiate>(dlsym(library, "cudaGraphInstantiate"));
  return result != cudaSuccess ? result : instantiate(&graph_exec, graph, 0);
}

}  // namespace

bool Open() {
  const char* path = std::getenv("TEST_CUDART");
  library = path != nullptr ? dlopen(path, RTLD_NOW) : nullptr;
  if (library == nullptr) return false;
  using Register = void (*)(void**, const char*, char*, const char*, int, void*, void*, void*, void*, int*);
  reinterpret_cast<Register>(dlsym(library, "__cudaRegisterFunction"))(nullptr, &kernel_key, nullptr, "_Z4stepv", -1,
                                                                       nullptr, nullptr, nullptr, nullptr, nullptr);
  return true;
}

int Allocate(std::size_t bytes) {
  void* memory = nullptr;
  using Malloc = cudaError_t (*)(void**, size_t);  // the name has overloads in C++
  const cudaError_t result = reinterpret_cast<Malloc>(dlsym(library, "cudaMalloc"))(&memory, bytes);
  return result != cudaSuccess ? result : RUNTIME(cudaFree)(memory);
}

int Launch() { return LaunchBlocks(1); }
int LaunchLong() { return LaunchBlocks(kLongBlocks); }
int LaunchGraph() {
  static const cudaError_t made = MakeGraph();
  return made != cudaSuccess ? made : RUNTIME(cudaGraphLaunch)(graph_exec, nullptr);
}

int CapturedLaunches() { return 0; }
int Synchronize() { return RUNTIME(cudaDeviceSynchronize)(); }
int ProfilerStart() { return reinterpret_cast<cudaError_t (*)()>(dlsym(library, "cudaProfilerStart"))(); }
int ProfilerStop() { return reinterpret_cast<cudaError_t (*)()>(dlsym(library, "cudaProfilerStop"))(); }

}  // namespace cuda_work
