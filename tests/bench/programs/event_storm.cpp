// As many events as are asked for, at a steady rate: NVTX ranges from some threads, and launches of small kernels from
// one more. Says once a second what its memory is. Without kernels it needs no GPU.
#include <cuda_runtime_api.h>
#include <nvtx3/nvToolsExt.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "common/arguments.h"
#include "common/cuda_memory.h"
#include "empty.h"

using gprof::examples::Check;

namespace {

constexpr uint64_t kEventsOfPair = 2, kEventsOfLaunch = 2;  // push and pop; call and kernel
constexpr uint64_t kPairsOfPace = 256, kLaunchesOfPace = 16, kLaunchesOfWait = 1024;

double Now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// KiB of a line of /proc/self/status.
long Status(const char* key) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen("/proc/self/status", "r"), &std::fclose);
  char line[256];
  while (file != nullptr && std::fgets(line, sizeof line, file.get()) != nullptr) {
    if (std::strncmp(line, key, std::strlen(key)) == 0) return std::strtol(line + std::strlen(key), nullptr, 10);
  }
  return -1;
}

// Sleeps when it is ahead of its rate, and never works more than a tenth of a second off when it was behind: a storm
// that follows a pause is not what is measured.
class Pace {
 public:
  explicit Pace(double per_second) : per_second_(per_second), started_(Now()) {}

  void Done(uint64_t count) {
    if (per_second_ <= 0) return;
    due_ += static_cast<double>(count) / per_second_;
    const double now = Now() - started_;
    if (due_ < now - kMostBehindS) due_ = now - kMostBehindS;
    if (due_ > now) usleep(static_cast<useconds_t>((due_ - now) * 1e6));
  }

 private:
  static constexpr double kMostBehindS = 0.1;
  double per_second_, started_, due_ = 0;
};

struct Counters {
  std::atomic<uint64_t> ranges{0}, launches{0};
  std::atomic<bool> is_over{false};

  uint64_t Events() const { return ranges * kEventsOfPair + launches * kEventsOfLaunch; }
};

void PushAndPop(uint64_t pairs, double pairs_per_second, Counters* counters) {
  Pace pace(pairs_per_second);
  for (uint64_t done = 0; done < pairs;) {
    const uint64_t count = std::min(kPairsOfPace, pairs - done);
    for (uint64_t i = 0; i < count; ++i) {
      nvtxRangePushA("step");
      nvtxRangePop();
    }
    counters->ranges += count;
    done += count;
    pace.Done(count);
  }
}

// Until the ranges are done.
void Launch(double per_second, Counters* counters) {
  const gprof::examples::Streams streams(1);
  Pace pace(per_second);
  while (!counters->is_over) {
    for (uint64_t i = 0; i < kLaunchesOfPace; ++i) Check(gprof::kernels::Empty(streams[0]));
    counters->launches += kLaunchesOfPace;
    if (counters->launches % kLaunchesOfWait == 0) Check(cudaStreamSynchronize(streams[0]));
    pace.Done(kLaunchesOfPace);
  }
  Check(cudaDeviceSynchronize());
}

void SayMemory(const Counters& counters, double started) {
  std::printf(
      "{\"fact\": \"memory\", \"s\": %.2f, \"events\": %llu, \"anonymous_kib\": %ld, \"shared_kib\": %ld, "
      "\"file_kib\": %ld}\n",
      Now() - started, static_cast<unsigned long long>(counters.Events()), Status("RssAnon:"), Status("RssShmem:"),
      Status("RssFile:"));
  std::fflush(stdout);
}

void SayMemoryUntilOver(const Counters& counters, double started) {
  for (double next = started; !counters.is_over; usleep(20'000)) {
    if (Now() < next) continue;
    SayMemory(counters, started);
    next += 1;
  }
}

}  // namespace

int main(int argc, char** argv) {
  gprof::examples::Arguments arguments(
      argc, argv, "event_storm [-n EVENTS] [--threads 4] [--rate EVENTS_PER_SECOND] [--kernels PER_SECOND]");
  const std::size_t events = arguments.Number("-n", 10'000'000);
  const std::size_t threads = arguments.Number("--threads", 4, 1);
  const double rate = std::strtod(arguments.Text("--rate", "0").c_str(), nullptr);
  const double kernels = std::strtod(arguments.Text("--kernels", "0").c_str(), nullptr);
  arguments.Finish();
  if (kernels > 0) Check(cudaFree(nullptr));  // the context, before any clock runs
  Counters counters;
  const double started = Now();
  std::thread sayer([&] { SayMemoryUntilOver(counters, started); });
  std::optional<std::thread> launcher;
  if (kernels > 0) launcher.emplace([&] { Launch(kernels, &counters); });
  std::vector<std::thread> pushers;
  const double all_pairs_per_second = rate > 0 ? std::max(rate - kernels * kEventsOfLaunch, 1.0) / kEventsOfPair : 0;
  const double share = rate > 0 && kernels > 0 ? 1 - kernels * kEventsOfLaunch / rate : 1;
  const auto pairs = static_cast<uint64_t>(static_cast<double>(events) * share / kEventsOfPair);
  for (std::size_t t = 0; t < threads; ++t) {
    const uint64_t count = pairs / threads + (t < pairs % threads ? 1 : 0);
    pushers.emplace_back(PushAndPop, count, all_pairs_per_second / static_cast<double>(threads), &counters);
  }
  for (std::thread& pusher : pushers) pusher.join();
  counters.is_over = true;
  if (launcher) launcher->join();
  sayer.join();
  SayMemory(counters, started);
  std::printf("{\"fact\": \"end\", \"s\": %.3f, \"ranges\": %llu, \"launches\": %llu, \"end_ns\": %.0f}\n",
              Now() - started, static_cast<unsigned long long>(counters.ranges),
              static_cast<unsigned long long>(counters.launches), Now() * 1e9);
  return 0;
}
