// Work whose rates are known. usage: gpu_known_rates WHAT [--launches N]
//   phases   one kernel that copies, multiplies, uses tensor cores and has a tail, each for a known time
//   (kernels/phases.h) graph    a decode step: a graph of small kernels of 2 to 15 us, launched again and again spin a
//   kernel of a known number of cycles: its time tells whether clocks change
// What is known is printed as one JSON object.
#include <cuda_runtime_api.h>

#include <chrono>
#include <cstdio>
#include <string>

#include "common/arguments.h"
#include "common/cuda_memory.h"
#include "fill.h"
#include "partial_reduce.h"
#include "phases.h"
#include "saxpy.h"
#include "spin.h"

namespace {

using gprof::examples::Check;
using gprof::examples::DeviceArray;

unsigned Multiprocessors() {
  int count = 0;
  Check(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0));
  return static_cast<unsigned>(count);
}

double Seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

void RunPhasesOften(std::size_t launches) {
  constexpr std::size_t kElements = std::size_t{64} << 20;
  constexpr gprof::kernels::Phases kPhases{75'000, 100'000, 75'000, 50'000, 20};
  DeviceArray<float> from(kElements), to(kElements);
  DeviceArray<unsigned long long> begun(launches);
  Check(cudaMemset(begun.data(), 0, launches * sizeof(unsigned long long)));
  const unsigned blocks = Multiprocessors();
  for (std::size_t i = 0; i < launches; ++i) {
    Check(gprof::kernels::RunPhases(nullptr, kPhases, begun.data() + i, from.data(), to.data(), kElements, blocks));
    // Something of another length between, so that samples and launches do not run in step.
    Check(gprof::kernels::Spin(nullptr, static_cast<std::int64_t>(5'000 + i * 7'919 % 60'000)));
  }
  Check(cudaDeviceSynchronize());
  std::printf("{\"sm_count\": %u, \"launches\": %zu, \"phase_ns\": [%u, %u, %u, %u], \"tail_blocks\": %u}\n", blocks,
              launches, kPhases.copy_ns, kPhases.multiply_ns, kPhases.tensor_ns, kPhases.tail_ns, kPhases.tail_blocks);
}

void RunGraphOften(std::size_t launches) {
  constexpr std::size_t kElements = std::size_t{16} << 20;
  constexpr int kLayers = 12;
  DeviceArray<float> x(kElements), y(kElements), sums(1024);
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t step = nullptr;
  Check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  Check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  for (int layer = 0; layer < kLayers; ++layer) {
    Check(gprof::kernels::Saxpy(stream, 2, x.data(), y.data(), kElements / 8));
    Check(gprof::kernels::Spin(stream, 4'000 + 500 * layer, 132, 256));
    Check(gprof::kernels::Fill(stream, y.data(), kElements / 4, 1));
    Check(gprof::kernels::PartialReduce(stream, y.data(), kElements / 4, sums.data(), 512));
  }
  Check(cudaStreamEndCapture(stream, &graph));
  Check(cudaGraphInstantiateWithFlags(&step, graph, 0));
  for (std::size_t i = 0; i < launches; ++i) {
    Check(cudaGraphLaunch(step, stream));
    if (i % 16 == 15) Check(cudaStreamSynchronize(stream));
  }
  Check(cudaStreamSynchronize(stream));
  std::printf("{\"launches\": %zu, \"kernels\": %d}\n", launches, 4 * kLayers);
}

// A minute of nothing else would tell no more than the median of some rounds.
void RunSpins(std::size_t rounds) {
  constexpr std::int64_t kCycles = 100'000'000;
  std::printf("{\"round_s\": [");
  Check(gprof::kernels::Spin(nullptr, kCycles, Multiprocessors(), 256));
  Check(cudaDeviceSynchronize());
  for (std::size_t i = 0; i < rounds; ++i) {
    const double start = Seconds();
    Check(gprof::kernels::Spin(nullptr, kCycles, Multiprocessors(), 256));
    Check(cudaDeviceSynchronize());
    std::printf("%s%.6f", i == 0 ? "" : ", ", Seconds() - start);
  }
  std::printf("]}\n");
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  gprof::examples::Arguments arguments(argc > 1 ? argc - 1 : argc, argc > 1 ? argv + 1 : argv,
                                       "gpu_known_rates phases|graph|spin [--launches N]");
  const std::size_t launches = arguments.Number("--launches", what == "spin" ? 40 : what == "graph" ? 4000 : 10'000);
  arguments.Finish();
  if (what == "phases") {
    RunPhasesOften(launches);
  } else if (what == "graph") {
    RunGraphOften(launches);
  } else if (what == "spin") {
    RunSpins(launches);
  } else {
    std::fprintf(stderr, "gpu_known_rates: phases, graph or spin\n");
    return 2;
  }
  return 0;
}
