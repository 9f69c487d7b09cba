// Loops that are slowed down by recording in different ways, each timed by its own clock in turns with recording
// (between cudaProfilerStart and cudaProfilerStop) and without.
//   gpu_loops               all of them, 9 turns of 40 ms each: --rounds N, --window-ms MS
//   gpu_loops --list        their names
//   gpu_loops --only NAME   one of them; with --plain it makes no turns
// Printed is a JSON object for each: {"loop": NAME, "off_ns": [...], "on_ns": [...]}, of a step.
#include <cuda_profiler_api.h>
#include <cuda_runtime_api.h>
#include <nvtx3/nvToolsExt.h>

#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "common/arguments.h"
#include "common/cuda_memory.h"
#include "empty.h"
#include "spin.h"

namespace {

using gprof::examples::Check;
using gprof::kernels::Empty;
using gprof::kernels::Spin;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kBytes = 4096, kStreams = 64;

std::int64_t CyclesOf(double microseconds) {
  int khz = 0;
  Check(cudaDeviceGetAttribute(&khz, cudaDevAttrClockRate, 0));
  return static_cast<std::int64_t>(microseconds * khz / 1000);
}

void Work(double microseconds) {
  const auto end = Clock::now() + std::chrono::duration<double, std::micro>(microseconds);
  while (Clock::now() < end) {
  }
}

// What loops use, made once.
struct Things {
  gprof::examples::Streams streams{kStreams};
  gprof::examples::DeviceArray<char> device{kStreams * kBytes};
  gprof::examples::PinnedArray<char> pinned{kStreams * kBytes};
  std::vector<char> pageable = std::vector<char>(kBytes);
  cudaEvent_t there = nullptr, back = nullptr;

  Things() {
    Check(cudaEventCreateWithFlags(&there, cudaEventDisableTiming));
    Check(cudaEventCreateWithFlags(&back, cudaEventDisableTiming));
  }
  Things(const Things&) = delete;
  Things& operator=(const Things&) = delete;
  ~Things() {
    cudaEventDestroy(there);
    cudaEventDestroy(back);
  }
  void Wait() const { Check(cudaStreamSynchronize(streams[0])); }
  void CopyIn(std::size_t i = 0) {
    Check(cudaMemcpyAsync(device.data() + i * kBytes, &pinned[i * kBytes], kBytes, cudaMemcpyHostToDevice, streams[i]));
  }
  void CopyOut(std::size_t i = 0) {
    Check(cudaMemcpyAsync(&pinned[i * kBytes], device.data() + i * kBytes, kBytes, cudaMemcpyDeviceToHost, streams[i]));
  }
};

struct Loop {
  const char* name;
  std::function<void(std::size_t)> run;  // that many steps; the GPU is waited for afterwards
};

template <class Step>
std::function<void(std::size_t)> Steps(Step step) {
  return [step](std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) step(i);
  };
}

std::function<void(std::size_t)> OnThreads(Things& things, std::size_t threads) {
  return [&things, threads](std::size_t count) {
    std::vector<std::thread> running;
    for (std::size_t t = 0; t < threads; ++t) {
      running.emplace_back([&things, t, launches = count / threads + 1] {
        for (std::size_t i = 0; i < launches; ++i) Check(Empty(things.streams[t]));
      });
    }
    for (std::thread& thread : running) thread.join();
  };
}

std::function<void(std::size_t)> GraphOf(Things& things, std::size_t nodes) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  const std::int64_t cycles = CyclesOf(1);
  Check(cudaStreamBeginCapture(things.streams[0], cudaStreamCaptureModeThreadLocal));
  for (std::size_t i = 0; i < nodes; ++i) Check(Spin(things.streams[0], cycles));
  Check(cudaStreamEndCapture(things.streams[0], &graph));
  Check(cudaGraphInstantiateWithFlags(&executable, graph, 0));
  return Steps([&things, executable](std::size_t) { Check(cudaGraphLaunch(executable, things.streams[0])); });
}

// Two kernels for each sweep over the grid, and a look at the residual after every 50.
std::function<void(std::size_t)> Jacobi(Things& things) {
  return Steps([&things, cycles = CyclesOf(2)](std::size_t i) {
    Check(Spin(things.streams[0], cycles));
    Check(Empty(things.streams[0]));
    if (i % 50 != 49) return;
    things.CopyOut();
    things.Wait();
  });
}

std::function<void(std::size_t)> TwoWays(Things& things) {
  return Steps([&things](std::size_t) {
    Check(Empty(things.streams[0]));
    Check(cudaEventRecord(things.there, things.streams[0]));
    Check(cudaStreamWaitEvent(things.streams[1], things.there, 0));
    Check(Empty(things.streams[1]));
    Check(cudaEventRecord(things.back, things.streams[1]));
    Check(cudaStreamWaitEvent(things.streams[0], things.back, 0));
  });
}

std::function<void(std::size_t)> Kernels(Things& things, double microseconds, std::size_t streams = 1) {
  return Steps([&things, cycles = CyclesOf(microseconds), streams](std::size_t i) {
    Check(Spin(things.streams[i % streams], cycles));
  });
}

std::vector<Loop> LoopsWithWaits(Things& t) {
  return {{"jacobi", Jacobi(t)},
          {"launch_wait", Steps([&t](std::size_t) {
             Check(Empty(t.streams[0]));
             t.Wait();
           })},
          {"host_launch_wait", Steps([&t, cycles = CyclesOf(10)](std::size_t) {
             Work(50);
             Check(Spin(t.streams[0], cycles));
             t.Wait();
           })},
          {"two_kernels_copy_wait", Steps([&t, cycles = CyclesOf(5)](std::size_t) {
             Check(Spin(t.streams[0], cycles));
             Check(Spin(t.streams[0], cycles));
             t.CopyOut();
             t.Wait();
           })},
          {"polled", Steps([&t, cycles = CyclesOf(10)](std::size_t) {
             Check(Spin(t.streams[0], cycles));
             while (cudaStreamQuery(t.streams[0]) == cudaErrorNotReady) {
             }
           })},
          {"copy_pageable", Steps([&t](std::size_t) {
             Check(cudaMemcpy(t.device.data(), t.pageable.data(), kBytes, cudaMemcpyHostToDevice));
           })}};
}

std::vector<Loop> LoopsWithoutWaits(Things& t) {
  return {{"launch", Steps([&t](std::size_t) { Check(Empty(t.streams[0])); })},
          {"kernels_5us", Kernels(t, 5)},
          {"kernels_20us", Kernels(t, 20)},
          {"kernels_100us", Kernels(t, 100)},
          {"kernels_8us_4_streams", Kernels(t, 8, 4)},
          {"two_streams_events", TwoWays(t)},
          {"copy_pinned", Steps([&t](std::size_t) { t.CopyIn(); })},
          {"copy_kernel_copy_4_streams", Steps([&t, cycles = CyclesOf(5)](std::size_t i) {
             t.CopyIn(i % 4);
             Check(Spin(t.streams[i % 4], cycles));
             t.CopyOut(i % 4);
           })},
          {"memset", Steps([&t](std::size_t) { Check(cudaMemsetAsync(t.device.data(), 1, kBytes, t.streams[0])); })},
          {"malloc_async", Steps([&t](std::size_t) {
             void* memory = nullptr;
             Check(cudaMallocAsync(&memory, kBytes, t.streams[0]));
             Check(Empty(t.streams[0]));
             Check(cudaFreeAsync(memory, t.streams[0]));
           })},
          {"nvtx_launch", Steps([&t](std::size_t) {
             nvtxRangePushA("outer");
             nvtxRangePushA("inner");
             Check(Empty(t.streams[0]));
             nvtxRangePop();
             nvtxRangePop();
           })},
          {"graph_20", GraphOf(t, 20)},
          {"graph_200", GraphOf(t, 200)},
          {"threads_4", OnThreads(t, 4)},
          {"threads_16", OnThreads(t, 16)},
          {"threads_64", OnThreads(t, 64)}};
}

double NsOfStep(const Loop& loop, std::size_t steps) {
  const auto start = Clock::now();
  loop.run(steps);
  Check(cudaDeviceSynchronize());
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count() / static_cast<double>(steps);
}

void Print(const char* name, const std::vector<double>& values, const char* end) {
  std::printf("\"%s\": [", name);
  for (std::size_t i = 0; i < values.size(); ++i) std::printf("%s%.1f", i == 0 ? "" : ", ", values[i]);
  std::printf("]%s", end);
}

void Measure(const Loop& loop, std::size_t rounds, double window_ns, bool is_plain) {
  NsOfStep(loop, 200);
  const std::size_t steps = static_cast<std::size_t>(window_ns / NsOfStep(loop, 200)) + 1;
  NsOfStep(loop, steps);
  std::vector<double> off_ns, on_ns;
  for (std::size_t round = 0; round < rounds; ++round) {
    off_ns.push_back(NsOfStep(loop, steps));
    if (is_plain) continue;
    Check(cudaProfilerStart());
    on_ns.push_back(NsOfStep(loop, steps));
    Check(cudaProfilerStop());
  }
  std::printf("{\"loop\": \"%s\", ", loop.name);
  Print("off_ns", off_ns, ", ");
  Print("on_ns", on_ns, "}\n");
}

}  // namespace

int main(int argc, char** argv) {
  gprof::examples::Arguments arguments(argc, argv,
                                       "gpu_loops [--only NAME] [--list] [--plain] [--rounds N] [--window-ms MS]");
  const bool lists = arguments.Switch("--list"), is_plain = arguments.Switch("--plain");
  const std::string only = arguments.Text("--only", "");
  const std::size_t rounds = arguments.Number("--rounds", 9);
  const double window_ns = 1e6 * static_cast<double>(arguments.Number("--window-ms", 40));
  arguments.Finish();
  Things things;
  std::vector<Loop> loops = LoopsWithWaits(things);
  for (Loop& loop : LoopsWithoutWaits(things)) loops.push_back(std::move(loop));
  for (const Loop& loop : loops) {
    if (lists) std::printf("%s\n", loop.name);
    if (!lists && (only.empty() || only == loop.name)) Measure(loop, rounds, window_ns, is_plain);
  }
  return 0;
}
