// What mock_test runs in processes of their own: programs of the double, under the collector.
#include "scenarios.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

void* cudart = nullptr;
#define RUNTIME(name) reinterpret_cast<decltype(&name)>(dlsym(cudart, #name))

void Kernel() {}
const void* const kKernel = reinterpret_cast<const void*>(&Kernel);

void Load() {
  cudart = dlopen(std::getenv("MOCK_TEST_CUDART"), RTLD_NOW | RTLD_GLOBAL);
  if (cudart == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    std::exit(9);
  }
  using Register = void (*)(void**, const char*, char*, const char*, int, void*, void*, void*, void*, int*);
  reinterpret_cast<Register>(dlsym(cudart, "__cudaRegisterFunction"))(nullptr, static_cast<const char*>(kKernel),
                                                                      nullptr, "_Z6kernelv", -1, nullptr, nullptr,
                                                                      nullptr, nullptr, nullptr);
}

int Collector(const char* name, unsigned flag) {
  void* library = dlopen(std::getenv("CUDA_INJECTION64_PATH"), RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) return -1;
  return reinterpret_cast<int (*)(unsigned)>(dlsym(library, name))(flag);
}

void PrintCollected() {
  void* library = dlopen(std::getenv("CUDA_INJECTION64_PATH"), RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) return void(std::puts("collector is not loaded"));
  std::fputs(reinterpret_cast<const char* (*)()>(dlsym(library, "CollectorText"))(), stdout);
  std::fflush(stdout);
}

void Work() {
  void* memory = nullptr;
  std::vector<char> host(4096, 'x');
  RUNTIME(cudaMalloc)(&memory, host.size());
  RUNTIME(cudaMemcpy)(memory, host.data(), host.size(), cudaMemcpyHostToDevice);
  for (int i = 0; i < 3; ++i) RUNTIME(cudaLaunchKernel)(kKernel, dim3(10), dim3(32), nullptr, 0, nullptr);
  RUNTIME(cudaDeviceSynchronize)();
}

void Launch(int count) {
  for (int i = 0; i < count; ++i) RUNTIME(cudaLaunchKernel)(kKernel, dim3(10), dim3(32), nullptr, 0, nullptr);
  RUNTIME(cudaDeviceSynchronize)();
}

// A graph that is launched twice, with records of whole graphs switched on before, or off in between.
void LaunchGraph() {
  cudaGraph_t graph = nullptr;
  cudaGraphNode_t node = nullptr;
  cudaGraphExec_t exec = nullptr;
  cudaKernelNodeParams kernel{};
  kernel.func = const_cast<void*>(kKernel);
  kernel.gridDim = kernel.blockDim = dim3(1);
  RUNTIME(cudaGraphCreate)(&graph, 0);
  RUNTIME(cudaGraphAddKernelNode)(&node, graph, nullptr, 0, &kernel);
  RUNTIME(cudaGraphInstantiate)(&exec, graph, 0);
  RUNTIME(cudaGraphLaunch)(exec, nullptr);
  constexpr unsigned kGraphTrace = 51;
  const bool is_late = std::getenv("MOCK_TEST_BREAK") != nullptr;
  Collector(is_late ? "CollectorEnable" : "CollectorDisable", kGraphTrace);
  RUNTIME(cudaGraphLaunch)(exec, nullptr);
  RUNTIME(cudaDeviceSynchronize)();
}

int Run(const char* name) {
  const auto is = [&](const char* other) { return std::strcmp(name, other) == 0; };
  Load();
  if (is("late-flush")) std::atexit([] { Collector("CollectorFlush", 0); });  // before cuInit: runs after the teardown
  Work();
  if (is("fork")) {
    const pid_t child = fork();
    if (child == 0) _exit(Collector("CollectorFlush", 0));
    int status = 0;
    waitpid(child, &status, 0);
    return WIFSIGNALED(status) ? 100 + WTERMSIG(status) : WEXITSTATUS(status);
  }
  if (is("work")) {
    Collector("CollectorFlush", 0);
    PrintCollected();
  }
  if (is("unfinished")) {
    RUNTIME(cudaLaunchKernel)(kKernel, dim3(2000000000), dim3(1), nullptr, 0, nullptr);
    Collector("CollectorFlush", 0);
    std::puts("unforced");
    PrintCollected();
    Collector("CollectorFlush", 1);
    std::puts("forced");
    PrintCollected();
    std::fflush(stdout);
    _exit(0);
  }
  if (is("graph")) LaunchGraph();
  if (is("disable")) {
    constexpr unsigned kKernels = 10;
    Collector("CollectorDisable", kKernels);
    Launch(4);
    Collector("CollectorEnable", kKernels);
    Launch(2);
  }
  if (is("finalize")) {
    std::printf("finalize %d\n", Collector("CollectorFinalize", 0));
    Launch(4);
    std::printf("flush %d\n", Collector("CollectorFlush", 0));
  } else if (is("graph") || is("disable")) {
    Collector("CollectorFlush", 0);
  }
  if (is("graph") || is("disable") || is("finalize")) PrintCollected();
  if (is("no-tool")) std::puts("done");
  return 0;
}

}  // namespace

int RunScenario(const char* name) { return Run(name); }
