// Launches whose counters are known. usage: counter_facts loop N|steady N|graph|graph_and_kernels|graphs_beside
// N|threads N|devices N|profiler|killed N|maps|ranges|both|places|runs FILE|breaks FILE
#include <cuda_runtime_api.h>
#include <nvtx3/nvToolsExt.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "facts.h"
#include "fake_kernel.h"

// NVIDIA's header packages come without cuda_profiler_api.h.
extern "C" cudaError_t cudaProfilerStart();
extern "C" cudaError_t cudaProfilerStop();

namespace {

const FakeKernel alpha("_Z5alphaPf");
const FakeKernel beta("_ZN3lib4betaIN3foo3barELi16EEEvPT_");  // lib::beta<foo::bar, 16>(…)
const FakeKernel reduce("_Z24ncclDevKernel_AllReducev");

void Loop(int count) {
  for (int i = 0; i < count; ++i) {
    CHECK(alpha.Launch(10, 32));
    CHECK(alpha.Launch(20, 32));
    CHECK(beta.Launch(30, 64));
    CHECK(reduce.Launch(1, 32));
  }
  CHECK(cudaDeviceSynchronize());
}

// So that time goes by.
void LaunchSteadily(int count) {
  for (int i = 0; i < count; ++i) {
    Loop(1);
    usleep(1000);
  }
}

void AddKernel(cudaGraph_t graph, const FakeKernel& kernel, unsigned blocks) {
  cudaGraphNode_t node;
  cudaKernelNodeParams params{};
  params.func = const_cast<FakeKernel*>(&kernel);
  params.gridDim = dim3(blocks);
  params.blockDim = dim3(64);
  CHECK(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &params));
}

// With `kernels`, one before each launch of the graph.
void LaunchGraph(unsigned kernels) {
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  CHECK(cudaGraphCreate(&graph, 0));
  AddKernel(graph, alpha, 5);
  AddKernel(graph, beta, 6);
  AddKernel(graph, alpha, 7);
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  for (int i = 0; i < 2; ++i) {
    for (unsigned k = 0; k < kernels; ++k) CHECK(beta.Launch(3, 32));
    CHECK(cudaGraphLaunch(exec, nullptr));
  }
  CHECK(cudaDeviceSynchronize());
}

// While another thread launches kernels.
void InstantiateBeside(int count) {
  constexpr int kNodes = 300;  // so that a call takes its time
  std::atomic<bool> has_begun{false}, ends{false};
  std::thread other([&] {
    while (!ends) {
      CHECK(alpha.Launch(1, 32));
      has_begun = true;
    }
  });
  while (!has_begun) usleep(1000);
  cudaGraph_t graph;
  CHECK(cudaGraphCreate(&graph, 0));
  for (int i = 0; i < kNodes; ++i) AddKernel(graph, beta, 6);
  for (int i = 0; i < count; ++i) {
    cudaGraphExec_t exec;
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphExecDestroy(exec));
  }
  ends = true;
  other.join();
  CHECK(cudaDeviceSynchronize());
}

void LaunchInThreads(int count) {
  std::vector<std::thread> threads;
  for (unsigned i = 1; i <= 4; ++i) {
    threads.emplace_back([i, count] {
      for (int k = 0; k < count; ++k) CHECK((i == 4 ? beta : alpha).Launch(i, 32));
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(cudaDeviceSynchronize());
}

void UseDevices(int count) {
  for (int i = 0; i < 2 * count; ++i) {
    CHECK(cudaSetDevice(i % 2));
    CHECK(alpha.Launch(10, 32));
    CHECK(beta.Launch(20 + static_cast<unsigned>(i % 2), 32));
  }
}

void UseProfilerApi() {
  CHECK(alpha.Launch(1, 32));
  CHECK(cudaProfilerStart());
  CHECK(beta.Launch(2, 32));
  CHECK(cudaProfilerStop());
  CHECK(alpha.Launch(3, 32));
  CHECK(cudaDeviceSynchronize());
}

// Two ranges of one name, and work before, between and after them.
void UseRanges() {
  CHECK(alpha.Launch(1, 32));
  for (unsigned i = 2; i < 4; ++i) {
    nvtxRangePushA("step");
    CHECK(alpha.Launch(i, 32));
    CHECK(beta.Launch(i, 32));
    CHECK(cudaDeviceSynchronize());
    nvtxRangePop();
    CHECK(alpha.Launch(10, 32));
  }
}

void LaunchInStep(unsigned blocks) {
  nvtxRangePushA("step");
  CHECK(alpha.Launch(blocks, 32));
  CHECK(cudaDeviceSynchronize());
  nvtxRangePop();
}

// Ranges of NVTX before, in, after and around those of the profiler API.
void UseBothRanges() {
  LaunchInStep(1);
  CHECK(cudaProfilerStart());
  LaunchInStep(2);
  CHECK(alpha.Launch(3, 32));
  CHECK(cudaProfilerStop());
  LaunchInStep(4);
  nvtxRangePushA("step");
  CHECK(cudaProfilerStart());
  CHECK(alpha.Launch(5, 32));
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaProfilerStop());
  nvtxRangePop();
}

// A launch, with a number of blocks of its own, in each of several places.
void LaunchInPlaces() {
  const nvtxDomainHandle_t lib = nvtxDomainCreateA("lib");
  nvtxEventAttributes_t part{};
  part.version = NVTX_VERSION;
  part.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  part.messageType = NVTX_MESSAGE_TYPE_ASCII;
  part.message.ascii = "part";
  CHECK(alpha.Launch(1, 32));
  nvtxRangePushA("outer");
  CHECK(alpha.Launch(2, 32));
  nvtxRangePushA("inner");
  CHECK(alpha.Launch(3, 32));
  nvtxDomainRangePushEx(lib, &part);
  CHECK(alpha.Launch(4, 32));
  nvtxDomainRangePop(lib);
  nvtxRangePop();
  nvtxRangePushA("middle");
  nvtxRangePushA("inner");
  CHECK(alpha.Launch(5, 32));
  nvtxRangePop();
  nvtxRangePop();
  nvtxRangePop();
  const nvtxRangeId_t started = nvtxRangeStartA("started");
  CHECK(alpha.Launch(6, 32));
  nvtxRangeEnd(started);
  nvtxRangePushA("inner");
  CHECK(alpha.Launch(7, 32));
  nvtxRangePop();
  CHECK(cudaDeviceSynchronize());
}

// Which libraries of profiling are in the process.
void SayMaps() {
  CHECK(alpha.Launch(1, 32));
  std::ifstream maps("/proc/self/maps");
  int count = 0;
  for (std::string line; std::getline(maps, line);) count += line.find("libnvperf") != std::string::npos ? 1 : 0;
  facts::Say(R"({"fact":"maps","nvperf":%d})", count);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  const int count = argc > 2 ? std::atoi(argv[2]) : 1;
  if (what == "loop")
    Loop(count);
  else if (what == "steady")
    LaunchSteadily(count);
  else if (what == "graph")
    LaunchGraph(0);
  else if (what == "graph_and_kernels")
    LaunchGraph(1);
  else if (what == "graphs_beside")
    InstantiateBeside(count);
  else if (what == "threads")
    LaunchInThreads(count);
  else if (what == "devices")
    UseDevices(count);
  else if (what == "profiler")
    UseProfilerApi();
  else if (what == "maps")
    SayMaps();
  else if (what == "ranges")
    UseRanges();
  else if (what == "both")
    UseBothRanges();
  else if (what == "places")
    LaunchInPlaces();
  else if (what == "killed") {
    Loop(count);
    sleep(2);  // a batch of launches is ended after a quarter of a second
    raise(SIGKILL);
  } else
    return 98;
  return 0;
}
