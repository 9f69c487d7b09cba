// Kernels of about five microseconds from four threads, each with a stream of its own: what a program does that has
// cut its work too small. Measured as steady.py says, with the same files; --steps storm=N is the number of launches.
#include <cuda_runtime_api.h>
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "common/arguments.h"
#include "common/cuda_memory.h"
#include "spin.h"

using gprof::examples::Check;

namespace {

constexpr std::size_t kThreads = 4;
constexpr std::size_t kWarmLaunches = 4000;
constexpr std::int64_t kKernelNs = 5000;
constexpr int kPatienceS = 300;

// The other side is run_programs.py.
class Gate {
 public:
  explicit Gate(std::string folder) : folder_(std::move(folder)) {}

  void Tell(const char* name, const std::string& text) const {
    if (folder_.empty()) return;
    const std::string part = folder_ + "/" + name + ".part";
    std::FILE* file = std::fopen(part.c_str(), "w");
    if (file == nullptr) std::exit(3);
    std::fputs(text.c_str(), file);
    std::fclose(file);
    std::rename(part.c_str(), (folder_ + "/" + name).c_str());
  }
  void Wait(const char* name) const {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(kPatienceS);
    while (!folder_.empty() && access((folder_ + "/" + name).c_str(), F_OK) != 0) {
      if (std::chrono::steady_clock::now() > end) std::exit(4);
      usleep(5000);
    }
  }

 private:
  std::string folder_;
};

std::size_t StepsIn(const std::string& text, std::size_t otherwise) {
  const std::string key = "storm=";
  const std::size_t at = text.find(key);
  return at == std::string::npos ? otherwise : std::strtoull(text.c_str() + at + key.size(), nullptr, 10);
}

std::int64_t CyclesOf(std::int64_t ns) {
  int khz = 0;
  Check(cudaDeviceGetAttribute(&khz, cudaDevAttrClockRate, 0));
  return ns * khz / 1'000'000;
}

double Storm(const gprof::examples::Streams& streams, std::int64_t cycles, std::size_t launches) {
  const auto start = std::chrono::steady_clock::now();
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t i = 0; i < launches / kThreads; ++i) Check(gprof::kernels::Spin(streams[t], cycles));
    });
  }
  for (std::thread& thread : threads) thread.join();
  Check(cudaDeviceSynchronize());
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
}

long long MonotonicNs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

}  // namespace

int main(int argc, char** argv) {
  gprof::examples::Arguments arguments(argc, argv,
                                       "kernel_storm [--gate DIR] [--turns N] [--steps storm=N] [--steady-ms MS]");
  const Gate gate(arguments.Text("--gate", ""));
  const std::size_t turns = arguments.Number("--turns", 1);
  const std::string steps = arguments.Text("--steps", "");
  const double steady_ns = std::strtod(arguments.Text("--steady-ms", "500").c_str(), nullptr) * 1e6;
  arguments.Finish();
  const gprof::examples::Streams streams(kThreads);
  const std::int64_t cycles = CyclesOf(kKernelNs);
  Storm(streams, cycles, kWarmLaunches);
  gate.Tell("ready", "");
  char text[200] = "";
  for (std::size_t turn = 0; turn < turns; ++turn) {
    gate.Wait(("go" + std::to_string(turn)).c_str());
    const double warm_ns = Storm(streams, cycles, kWarmLaunches) / kWarmLaunches;
    const std::size_t launches = StepsIn(steps, static_cast<std::size_t>(steady_ns / warm_ns)) / kThreads * kThreads;
    const double ns = Storm(streams, cycles, launches) / static_cast<double>(launches);
    std::snprintf(text, sizeof text, "{\"storm\": {\"ns_per_step\": %.2f, \"steps\": %zu, \"checksum\": \"\"}}\n", ns,
                  launches);
    gate.Tell(("result" + std::to_string(turn)).c_str(), text);
  }
  gate.Wait("leave");
  gate.Tell("end", std::to_string(MonotonicNs()));
  std::fputs(text, stdout);
  return 0;
}
