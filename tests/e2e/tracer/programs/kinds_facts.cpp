// Everything that is recorded beyond launches and copies: memory, pools, managed memory, events, graph nodes, host
// functions and the profiler API. usage: kinds_facts memory|managed|events|graph|host|profiler, or graphs NODES PAUSE
// STOP [second, for a context on the second device; body, for all nodes but the first in the body of a conditional one]
#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "facts.h"
#include "fake_kernel.h"

// NVIDIA's header packages come without cuda_profiler_api.h.
extern "C" cudaError_t cudaProfilerStart();
extern "C" cudaError_t cudaProfilerStop();

namespace {

const FakeKernel work("_Z4workv");
const FakeKernel quiet("_Z5quietv");

unsigned long long Bits(const void* pointer) {
  return static_cast<unsigned long long>(reinterpret_cast<uintptr_t>(pointer));
}

void SayBlock(const char* what, const void* address, size_t bytes, int memory, bool is_async, const void* pool) {
  facts::Say(R"({"fact":"%s","address":%llu,"size_bytes":%llu,"memory":%d,"is_async":%d,"pool":%llu})", what,
             Bits(address), static_cast<unsigned long long>(bytes), memory, is_async ? 1 : 0, Bits(pool));
}

// Kinds of memory as traces number them: 2 pinned, 3 device, 5 managed.
void UseMemory() {
  void *device = nullptr, *pinned = nullptr, *managed = nullptr, *pooled = nullptr;
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaMalloc(&device, 1000));
  SayBlock("allocate", device, 1000, 3, false, nullptr);
  CHECK(cudaMallocHost(&pinned, 2000));
  SayBlock("allocate", pinned, 2000, 2, false, nullptr);
  CHECK(cudaMallocManaged(&managed, 3000, cudaMemAttachGlobal));
  SayBlock("allocate", managed, 3000, 5, false, nullptr);
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  cudaMemPool_t pool;
  CHECK(cudaMemPoolCreate(&pool, &properties));
  facts::Say(R"({"fact":"pool","operation":1,"pool":%llu,"size_bytes":0,"used_bytes":0,"keep_bytes":0})", Bits(pool));
  CHECK(cudaMallocFromPoolAsync(&pooled, 4000, pool, stream));
  SayBlock("allocate", pooled, 4000, 3, true, pool);
  CHECK(cudaFreeAsync(pooled, stream));
  SayBlock("free", pooled, 4000, 3, true, pool);
  CHECK(cudaMemPoolTrimTo(pool, 512));
  facts::Say(R"({"fact":"pool","operation":3,"pool":%llu,"size_bytes":512,"used_bytes":0,"keep_bytes":512})",
             Bits(pool));
  CHECK(cudaMemPoolDestroy(pool));
  facts::Say(R"({"fact":"pool","operation":2,"pool":%llu,"size_bytes":512,"used_bytes":0,"keep_bytes":0})", Bits(pool));
  CHECK(cudaFree(managed));
  SayBlock("free", managed, 3000, 5, false, nullptr);
  CHECK(cudaFreeHost(pinned));
  SayBlock("free", pinned, 2000, 2, false, nullptr);
  CHECK(cudaFree(device));
  SayBlock("free", device, 1000, 3, false, nullptr);
  facts::Say(R"({"fact":"stream","handle":%llu})", Bits(stream));
}

void SayManaged(int kind, uint64_t value, const void* address, unsigned source, unsigned destination, unsigned flags,
                unsigned duration) {
  facts::Say(
      R"({"fact":"managed","managed_kind":%d,"value":%llu,"address":%llu,"source":%u,"destination":%u,"flags":%u,)"
      R"("duration_ns":%u})",
      kind, static_cast<unsigned long long>(value), Bits(address), source, destination, flags, duration);
}

// As the double plays it (tests/mock/README.md): a device and the host take turns, each faulting first or not.
void UseManagedMemory() {
  constexpr unsigned kHost = ~0u;
  void *managed = nullptr, *device = nullptr;
  CHECK(cudaMallocManaged(&managed, 10000, cudaMemAttachGlobal));
  CHECK(cudaMalloc(&device, 10000));
  cudaMemLocation place{};
  place.type = cudaMemLocationTypeDevice;
  CHECK(cudaMemPrefetchAsync(managed, 10000, place, 0, nullptr));
  SayManaged(1, 10000, managed, kHost, 0, 1, 1200);
  CHECK(cudaMemcpy(device, managed, 5000, cudaMemcpyHostToDevice));
  SayManaged(3, 1, managed, kHost, kHost, 1, 0);
  SayManaged(2, 5000, managed, 0, kHost, 2, 700);
  CHECK(cudaMemset(managed, 1, 8000));
  SayManaged(4, 1, managed, 0, 0, 2, 1000);
  SayManaged(1, 8000, managed, kHost, 0, 2, 1000);
  place.id = 1;
  CHECK(cudaMemPrefetchAsync(managed, 10000, place, 0, nullptr));
  SayManaged(8, 10000, managed, 0, 1, 1, 1200);
  CHECK(cudaDeviceSynchronize());
}

void UseEvents() {
  cudaEvent_t first, second;
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaEventCreate(&first));
  CHECK(cudaEventCreate(&second));
  CHECK(cudaEventRecord(first, stream));
  CHECK(work.Launch(1, 32, stream));
  CHECK(cudaEventRecordWithFlags(second, stream, 0));
  CHECK(cudaEventRecord(second, nullptr));
  const int failed = cudaEventRecord(nullptr, stream);
  CHECK(cudaDeviceSynchronize());
  facts::Say(R"({"fact":"events","first":%llu,"second":%llu,"stream":%llu,"tid":%u,"failed":%d})", Bits(first),
             Bits(second), Bits(stream), facts::Tid(), failed);
}

// As hooks of frameworks do (gprof/trace/place_calls.h), where a tracer is there.
void TellPlace(const char* place) {
  const char* const path = std::getenv("NVTX_INJECTION64_PATH");
  void* const tracer = path == nullptr ? nullptr : dlopen(path, RTLD_LAZY);
  void* const tell = tracer == nullptr ? nullptr : dlsym(tracer, "GprofTellPlace");
  if (tell != nullptr) reinterpret_cast<void (*)(const char*)>(tell)(place);
}

void UseGraph() {
  cudaGraph_t graph;
  cudaGraphNode_t node;
  cudaGraphExec_t exec;
  void* memory = nullptr;
  CHECK(cudaMalloc(&memory, 4096));
  CHECK(cudaGraphCreate(&graph, 0));
  cudaKernelNodeParams kernel{};
  kernel.func = const_cast<FakeKernel*>(&work);
  kernel.gridDim = dim3(20);
  kernel.blockDim = dim3(64);
  std::thread([&] {
    TellPlace("Model / layer.0");
    CHECK(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &kernel));
    TellPlace("");
    facts::Say(R"({"fact":"builder","tid":%u})", facts::Tid());
  }).join();
  cudaMemsetParams fill{};
  fill.dst = memory;
  fill.elementSize = 1;
  fill.width = 512;
  fill.height = 1;
  CHECK(cudaGraphAddMemsetNode(&node, graph, nullptr, 0, &fill));
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  for (int i = 0; i < 3; ++i) CHECK(cudaGraphLaunch(exec, nullptr));
  CHECK(cudaDeviceSynchronize());
  facts::Say(R"({"fact":"me","tid":%u})", facts::Tid());
}

bool UseSecondDevice() {
  CHECK(cudaFree(nullptr));
  CHECK(cudaSetDevice(1));
  CHECK(cudaFree(nullptr));
  CHECK(cudaSetDevice(0));
  return true;
}

cudaGraph_t AddBody(cudaGraph_t graph) {
  cudaGraphConditionalHandle handle;
  cudaGraphNode_t node;
  CHECK(cudaGraphConditionalHandleCreate(&handle, graph, 1, cudaGraphCondAssignDefault));
  cudaGraphNodeParams conditional{};
  conditional.type = cudaGraphNodeTypeConditional;
  conditional.conditional.handle = handle;
  conditional.conditional.type = cudaGraphCondTypeIf;
  conditional.conditional.size = 1;
  CHECK(cudaGraphAddNode(&node, graph, nullptr, nullptr, 0, &conditional));
  return conditional.conditional.phGraph_out[0];
}

// Launches a graph of `nodes` kernels every `pause_us` until the file `stop` is there, then ten times more.
void LaunchGraphs(int nodes, int pause_us, const char* stop, bool has_body) {
  cudaGraph_t graph;
  cudaGraphNode_t node;
  cudaGraphExec_t exec;
  CHECK(cudaGraphCreate(&graph, 0));
  cudaKernelNodeParams kernel{};
  kernel.func = const_cast<FakeKernel*>(&work);
  kernel.gridDim = dim3(1);
  kernel.blockDim = dim3(64);
  CHECK(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &kernel));
  const cudaGraph_t others = has_body ? AddBody(graph) : graph;
  for (int i = 1; i < nodes; ++i) CHECK(cudaGraphAddKernelNode(&node, others, nullptr, 0, &kernel));
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  int launches = 0;
  const auto launch = [&] {
    CHECK(cudaGraphLaunch(exec, nullptr));
    CHECK(cudaDeviceSynchronize());
    ++launches;
    usleep(static_cast<useconds_t>(pause_us));
  };
  while (access(stop, F_OK) != 0) launch();
  for (int i = 0; i < 10; ++i) launch();
  facts::Say(R"({"fact":"launches","count":%d,"nodes":%d})", launches, nodes);
}

std::atomic<int> calls{0};
void CUDART_CB Call(void* data) { calls += *static_cast<int*>(data); }

void UseHostFunctions() {
  static int one = 1;
  CHECK(work.Launch(10, 32));
  for (int i = 0; i < 5; ++i) CHECK(cudaLaunchHostFunc(nullptr, Call, &one));
  CHECK(cudaDeviceSynchronize());
  facts::Say(R"({"fact":"host","calls":%d})", calls.load());
}

// Work before, within, between and after two ranges of the profiler API.
void UseProfilerApi() {
  CHECK(quiet.Launch(1, 32));
  for (int i = 0; i < 2; ++i) {
    CHECK(cudaProfilerStart());
    for (int k = 0; k < 4; ++k) CHECK(work.Launch(2, 32));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaProfilerStop());
    for (int k = 0; k < 3; ++k) CHECK(quiet.Launch(1, 32));
    CHECK(cudaDeviceSynchronize());
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "memory")
    UseMemory();
  else if (what == "managed")
    UseManagedMemory();
  else if (what == "events")
    UseEvents();
  else if (what == "graph")
    UseGraph();
  else if (what == "graphs" && argc == 6 && argv[5] == std::string("body"))
    LaunchGraphs(std::atoi(argv[2]), std::atoi(argv[3]), argv[4], true);
  else if (what == "graphs" && argc == 6 && UseSecondDevice())
    LaunchGraphs(std::atoi(argv[2]), std::atoi(argv[3]), argv[4], false);
  else if (what == "graphs" && argc == 5)
    LaunchGraphs(std::atoi(argv[2]), std::atoi(argv[3]), argv[4], false);
  else if (what == "host")
    UseHostFunctions();
  else if (what == "profiler")
    UseProfilerApi();
  else
    return 98;
  return 0;
}
