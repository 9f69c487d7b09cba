// Graphs that CUPTI has trouble with. usage: gpu_graphs WHAT [--launches N]
//   one          a graph on one GPU            two          one on each of two GPUs, launched together
//   conditional  a graph with an IF node       pair         the same, and each waits for the other by events
//   after_copy   graphs that are launched once each, after a copy within the device that is long over
// What ran is printed as one JSON object: {"launches": N, "kernels": N}.
#include <cuda_runtime_api.h>

#include <chrono>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "common/arguments.h"
#include "common/cuda_check.h"
#include "spin.h"

namespace {

using gprof::examples::Check;

constexpr std::int64_t kCycles = 20'000;  // about 10 us
constexpr std::size_t kNodes = 5;

struct Side {
  int device = 0;
  cudaStream_t stream = nullptr;
  cudaEvent_t done = nullptr;
  cudaGraphExec_t executable = nullptr;
};

void LaunchKernels(cudaStream_t stream) {
  for (std::size_t i = 0; i < kNodes; ++i) Check(gprof::kernels::Spin(stream, kCycles));
}

Side MakeSide(int device) {
  Side side{device};
  cudaGraph_t graph = nullptr;
  Check(cudaSetDevice(device));
  Check(cudaStreamCreateWithFlags(&side.stream, cudaStreamNonBlocking));
  Check(cudaEventCreateWithFlags(&side.done, cudaEventDisableTiming));
  Check(cudaStreamBeginCapture(side.stream, cudaStreamCaptureModeThreadLocal));
  LaunchKernels(side.stream);
  Check(cudaStreamEndCapture(side.stream, &graph));
  Check(cudaGraphInstantiateWithFlags(&side.executable, graph, 0));
  return side;
}

// A kernel, and kNodes of them in the body of an IF node whose condition is always met.
Side MakeConditional() {
  Side side{};
#if CUDART_VERSION >= 13000
  cudaGraph_t graph = nullptr;
  cudaGraphNode_t node = nullptr;
  cudaGraphConditionalHandle handle{};
  Check(cudaStreamCreateWithFlags(&side.stream, cudaStreamNonBlocking));
  Check(cudaGraphCreate(&graph, 0));
  Check(cudaGraphConditionalHandleCreate(&handle, graph, 1, cudaGraphCondAssignDefault));
  cudaGraphNodeParams parameters{};
  parameters.type = cudaGraphNodeTypeConditional;
  parameters.conditional.handle = handle;
  parameters.conditional.type = cudaGraphCondTypeIf;
  parameters.conditional.size = 1;
  Check(cudaGraphAddNode(&node, graph, nullptr, nullptr, 0, &parameters));
  cudaGraph_t body = parameters.conditional.phGraph_out[0];
  Check(cudaStreamBeginCaptureToGraph(side.stream, body, nullptr, nullptr, 0, cudaStreamCaptureModeThreadLocal));
  LaunchKernels(side.stream);
  Check(cudaStreamEndCapture(side.stream, &body));
  Check(cudaGraphInstantiateWithFlags(&side.executable, graph, 0));
#endif
  return side;
}

void Launch(const Side& side) {
  Check(cudaSetDevice(side.device));
  Check(cudaGraphLaunch(side.executable, side.stream));
}

// The copy is over, and what was recorded of it is delivered, when the graph runs for the first time.
void LaunchAfterCopy() {
  constexpr std::size_t kBytes = 4096;
  char* memory = nullptr;
  Check(cudaMalloc(reinterpret_cast<void**>(&memory), 2 * kBytes));
  const Side side = MakeSide(0);
  Check(cudaMemcpyAsync(memory + kBytes, memory, kBytes, cudaMemcpyDeviceToDevice, side.stream));
  Check(cudaDeviceSynchronize());
  std::this_thread::sleep_for(std::chrono::milliseconds(700));
  Launch(side);
  Check(cudaDeviceSynchronize());
  Check(cudaFree(memory));
}

void WaitForEachOther(const std::vector<Side>& sides) {
  for (const Side& side : sides) {
    Check(cudaSetDevice(side.device));
    Check(cudaEventRecord(side.done, side.stream));
  }
  Check(cudaStreamWaitEvent(sides[0].stream, sides[1].done, 0));
  Check(cudaStreamWaitEvent(sides[1].stream, sides[0].done, 0));
}

}  // namespace

int main(int argc, char** argv) {
  const std::string usage = "gpu_graphs one|two|pair|conditional|after_copy [--launches N]";
  const std::string what = argc > 1 ? argv[1] : "";
  gprof::examples::Arguments arguments(argc - 1, argv + 1, usage);
  const std::size_t launches = arguments.Number("--launches", 300);
  arguments.Finish();
  if (what == "after_copy") {
    for (std::size_t i = 0; i < launches; ++i) LaunchAfterCopy();
    std::printf("{\"launches\": %zu, \"kernels\": %zu}\n", launches, launches * kNodes);
    return 0;
  }
  std::vector<Side> sides;
  if (what == "conditional") {
    sides.push_back(MakeConditional());
    if (sides[0].executable == nullptr) return 77;  // built without conditional nodes
  } else {
    for (int device = 0; device < (what == "one" ? 1 : 2); ++device) sides.push_back(MakeSide(device));
  }
  for (std::size_t i = 0; i < launches; ++i) {
    for (const Side& side : sides) Launch(side);
    if (what == "pair") WaitForEachOther(sides);
  }
  for (const Side& side : sides) {
    Check(cudaSetDevice(side.device));
    Check(cudaDeviceSynchronize());
  }
  std::printf("{\"launches\": %zu, \"kernels\": %zu}\n", launches * sides.size(), launches * sides.size() * kNodes);
  return 0;
}
