// Programs whose steps hold a thing that can take half as long, so that what that saves can be measured and compared
// with what `what-if` says of it beforehand.
//   gpu_proof_pairs NAME [--half] [--seconds S]   prints the mean time of a step in ns
//   gpu_proof_pairs --list                        name, and what to delay
#include <cuda_runtime_api.h>
#include <nvtx3/nvToolsExt.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "common/arguments.h"
#include "common/cuda_memory.h"
#include "empty.h"
#include "fill.h"
#include "spin.h"

namespace {

using gprof::examples::Check;
using gprof::kernels::Empty;
using gprof::kernels::Fill;
using gprof::kernels::Spin;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kBytes = std::size_t{8} << 20, kFloats = std::size_t{1} << 27;

void Busy(double microseconds) {
  const auto end = Clock::now() + std::chrono::duration<double, std::micro>(microseconds);
  while (Clock::now() < end) {
  }
}

void InRange(const char* name, double microseconds) {
  nvtxRangePushA(name);
  Busy(microseconds);
  nvtxRangePop();
}

// Threads that each do a part of a step when they are told to.
class Workers {
 public:
  Workers(int count, std::function<void()> part) : part_(std::move(part)) {
    for (int i = 0; i < count; ++i) threads_.emplace_back([this] { Serve(); });
  }
  ~Workers() {
    goes_on_ = false;
    Begin();
    for (std::thread& thread : threads_) thread.join();
  }
  void Begin() {
    done_ = 0;
    ++round_;
  }
  void Wait() const {
    while (done_ < static_cast<int>(threads_.size())) {
    }
  }

 private:
  void Serve() {
    for (int seen = 0;;) {
      while (round_ == seen) {
      }
      seen = round_;
      if (!goes_on_) return;
      part_();
      ++done_;
    }
  }
  std::function<void()> part_;
  std::atomic<int> round_{0}, done_{0};
  std::atomic<bool> goes_on_{true};
  std::vector<std::thread> threads_;
};

// Half of it, where the thing is to take half as long.
double share = 1;

std::int64_t CyclesOf(double microseconds) {
  static const int khz = [] {
    int value = 0;
    Check(cudaDeviceGetAttribute(&value, cudaDevAttrClockRate, 0));
    return value;
  }();
  return static_cast<std::int64_t>(microseconds * khz / 1000);
}

struct Gpu {
  gprof::examples::Streams streams{2};
  gprof::examples::DeviceArray<char> device{kBytes};
  gprof::examples::DeviceArray<float> floats{kFloats};
  gprof::examples::PinnedArray<char> pinned{kBytes};
  std::vector<char> pageable = std::vector<char>(kBytes);
  cudaGraphExec_t graph = nullptr;

  cudaStream_t a() const { return streams[0]; }
  cudaStream_t b() const { return streams[1]; }
  void Work(double microseconds) const { Check(Spin(a(), CyclesOf(microseconds))); }
  void FillHalfOf(double of) const {
    Check(Fill(b(), floats.data(), static_cast<std::size_t>(static_cast<double>(kFloats) * of), 1));
  }
  static void Wait() { Check(cudaDeviceSynchronize()); }
};

Gpu& TheGpu() {
  static Gpu gpu;
  return gpu;
}

struct Pair {
  const char* name;
  const char* thing;
  std::function<void()> step;
};

void CopyIn(double bytes) {
  Check(cudaMemcpy(TheGpu().device.data(), TheGpu().pageable.data(), static_cast<std::size_t>(bytes),
                   cudaMemcpyHostToDevice));
}
void CopyOut(double bytes) {
  Check(cudaMemcpy(TheGpu().pageable.data(), TheGpu().device.data(), static_cast<std::size_t>(bytes),
                   cudaMemcpyDeviceToHost));
}
void CopyBeside(double bytes) {
  Check(cudaMemcpyAsync(TheGpu().device.data(), TheGpu().pinned.data(), static_cast<std::size_t>(bytes),
                        cudaMemcpyHostToDevice, TheGpu().b()));
}

void LaunchEmpty(double count) {
  for (int i = 0; i < static_cast<int>(count); ++i) Check(Empty(TheGpu().a()));
}

void AllocateAndFree() {
  static int step = 0;
  if (share < 1 && ++step % 2 == 0) return;
  void* memory = nullptr;
  Check(cudaMalloc(&memory, std::size_t{64} << 20));
  Check(cudaFree(memory));
}

// One part before the step that needs it.
void Pipeline(double produce, double consume) {
  static double produce_us = produce;
  static Workers producer(1, [] { InRange("produce", produce_us); });
  static bool has_begun = false;
  if (!has_begun) producer.Begin();
  has_begun = true;
  producer.Wait();
  producer.Begin();
  InRange("consume", consume);
  TheGpu().Work(100);
  Gpu::Wait();
}

void Parts(int count, double microseconds) {
  static double part_us = microseconds;
  static Workers workers(count, [] { InRange("part", part_us); });
  workers.Begin();
  workers.Wait();
}

void LoadBeside(double load, double beside) {
  static double beside_us = beside;
  static Workers worker(1, [] { InRange("beside", beside_us); });
  worker.Begin();
  InRange("load", load);
  worker.Wait();
}

const std::vector<Pair> kPairs = {
    {"load_on_path", "range:load",
     [] {
       InRange("load", 600 * share);
       TheGpu().Work(400);
       Gpu::Wait();
     }},
    {"load_hidden", "range:load",
     [] {
       TheGpu().Work(1000);
       InRange("load", 400 * share);
       Gpu::Wait();
     }},
    {"load_nearly_hidden", "range:load",
     [] {
       TheGpu().Work(1000);
       InRange("load", 700 * share);
       Gpu::Wait();
     }},
    {"after_the_wait", "range:post",
     [] {
       TheGpu().Work(400);
       Gpu::Wait();
       InRange("post", 300 * share);
     }},
    {"kernel_on_path", "kernel:Spin",
     [] {
       TheGpu().Work(600 * share);
       Gpu::Wait();
       Busy(200);
     }},
    {"kernels_in_a_row", "kernel:Spin",
     [] {
       for (int i = 0; i < 4; ++i) TheGpu().Work(150 * share);
       Gpu::Wait();
       Busy(200);
     }},
    {"kernel_behind_the_host", "kernel:Spin",
     [] {
       TheGpu().Work(300 * share);
       Busy(1000);
       Gpu::Wait();
     }},
    {"kernel_beside_another", "kernel:Fill",
     [] {
       TheGpu().Work(1200);
       TheGpu().FillHalfOf(share);
       Gpu::Wait();
     }},
    {"fill_on_path", "kernel:Fill",
     [] {
       TheGpu().FillHalfOf(share);
       Gpu::Wait();
       Busy(100);
     }},
    {"launches_on_path", "launches",
     [] {
       LaunchEmpty(200 * share);
       Gpu::Wait();
     }},
    {"launches_hidden", "launches",
     [] {
       const int n = share < 1 ? 10 : 20;
       for (int i = 0; i < n; ++i) TheGpu().Work(1000.0 / n);
       Gpu::Wait();
     }},
    {"copy_in_on_path", "copies",
     [] {
       CopyIn(kBytes * share);
       TheGpu().Work(200);
       Gpu::Wait();
     }},
    {"copy_out_on_path", "copies",
     [] {
       TheGpu().Work(200);
       Gpu::Wait();
       CopyOut(kBytes * share);
     }},
    {"copies_both_ways", "copies",
     [] {
       CopyIn(kBytes * share);
       TheGpu().Work(300);
       Gpu::Wait();
       CopyOut(kBytes * share);
     }},
    {"copy_beside", "copies",
     [] {
       TheGpu().Work(1000);
       CopyBeside(kBytes * share);
       Gpu::Wait();
     }},
    {"allocate", "api:cudaMalloc*",
     [] {
       AllocateAndFree();
       TheGpu().Work(200);
       Gpu::Wait();
     }},
    {"producer_on_path", "range:produce", [] { Pipeline(900 * share, 300); }},
    {"consumer_hidden", "range:consume", [] { Pipeline(900, 300 * share); }},
    {"consumer_on_path", "range:consume", [] { Pipeline(200, 700 * share); }},
    {"parts_of_four_threads", "range:part",
     [] {
       Parts(4, 500 * share);
       TheGpu().Work(100);
       Gpu::Wait();
     }},
    {"host_alone", "range:load",
     [] {
       InRange("load", 500 * share);
       Busy(500);
     }},
    {"host_beside_host", "range:beside", [] { LoadBeside(800, 300 * share); }},
    {"host_waits_for_host", "range:beside", [] { LoadBeside(200, 800 * share); }},
    {"many_short_ranges", "range:item",
     [] {
       for (int i = 0; i < 50; ++i) InRange("item", 10 * share);
       TheGpu().Work(300);
       Gpu::Wait();
     }},
    {"launch_and_load", "launches",
     [] {
       LaunchEmpty(100 * share);
       InRange("load", 300);
       Gpu::Wait();
     }},
    {"two_kernels", "kernel:Fill",
     [] {
       TheGpu().FillHalfOf(share);
       Check(cudaStreamSynchronize(TheGpu().b()));
       TheGpu().Work(300);
       Gpu::Wait();
     }},
};

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string(argv[1]) == "--list") {
    for (const Pair& pair : kPairs) std::printf("%s %s\n", pair.name, pair.thing);
    return 0;
  }
  const std::string name = argc > 1 ? argv[1] : "";
  gprof::examples::Arguments arguments(argc - 1, argv + 1, "usage: gpu_proof_pairs NAME [--half] [--seconds S]\n");
  if (arguments.Switch("--half")) share = 0.5;
  const double seconds = static_cast<double>(arguments.Number("--seconds", 2));
  arguments.Finish();
  for (const Pair& pair : kPairs) {
    if (name != pair.name) continue;
    const auto begin = Clock::now();
    auto warm = begin;
    double steps = 0, ns = 0;
    while (ns < seconds * 1e9) {
      nvtxRangePushA("step");
      pair.step();
      nvtxRangePop();
      // The first steps load code.
      if (++steps == 20) warm = Clock::now(), ns = 0;
      if (steps >= 20) ns = std::chrono::duration<double, std::nano>(Clock::now() - warm).count();
    }
    std::printf("%.0f\n", ns / (steps - 20));
    std::fflush(stdout);
    std::_Exit(0);  // workers may be waiting for work
  }
  std::fprintf(stderr, "no pair '%s'\n", name.c_str());
  return 2;
}
