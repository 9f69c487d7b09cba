// Runs known functions for known shares of its CPU time, beside a thread that neither CUDA nor NVTX knows of.
// At the end it says when each of them ran, by the clock and by its CPU time.
//   sampled ROUNDS [kill]
#include <nvtx3/nvToolsExt.h>
#include <signal.h>
#include <time.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

namespace {

int64_t ReadNs(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}
int64_t ThreadCpuNs() { return ReadNs(CLOCK_THREAD_CPUTIME_ID); }

struct Moment {
  int64_t time_ns = ReadNs(CLOCK_MONOTONIC), cpu_ns = ThreadCpuNs();
};
struct Ran {
  const char* function;
  Moment begin, end;
};

// Rounds of one length would show a sampling period that fits into it the same places of each, and so a wrong share.
// Two after each other are as long as two of 100 %.
int64_t length_percent = 100;
void ChooseLength(int round) {
  static uint32_t state = 1;
  state = state * 1664525u + 1013904223u;
  length_percent = round % 2 == 0 ? 75 + (state >> 24) % 51 : 200 - length_percent;
}

}  // namespace

// Not static, so that they keep their names; what follows their calls keeps them on the stack.
__attribute__((noinline)) int Burn(int64_t cpu_ns) {
  const int64_t until_ns = ThreadCpuNs() + cpu_ns;
  int rounds = 0;
  while (ThreadCpuNs() < until_ns) {
    for (int i = 0; i < 2000; ++i) asm volatile("" ::: "memory");
    ++rounds;
  }
  return rounds;
}
__attribute__((noinline)) int SpinMuch() { return Burn(160'000 * length_percent) + 1; }
__attribute__((noinline)) int SpinLittle() { return Burn(40'000 * length_percent) + 2; }
__attribute__((noinline)) int SpinElsewhere() { return Burn(1'000'000) + 3; }

int main(int count, char** values) {
  const int rounds = count > 1 ? std::atoi(values[1]) : 20;
  std::atomic<bool> is_over{false};
  std::atomic<int> sink{0};
  std::vector<Ran> ran;
  std::thread other([&] {
    while (!is_over) sink += SpinElsewhere();
  });
  for (int i = 0; i < rounds; ++i) {
    nvtxRangePushA("step");
    ChooseLength(i);
    const Moment begin;
    sink += SpinMuch();
    const Moment middle;
    sink += SpinLittle();
    const Moment end;
    ran.push_back({"_Z8SpinMuchv", begin, middle});
    ran.push_back({"_Z10SpinLittlev", middle, end});
    const timespec pause = {0, 2'000'000};
    nanosleep(&pause, nullptr);
    nvtxRangePop();
  }
  if (count > 2 && std::strcmp(values[2], "kill") == 0) raise(SIGKILL);
  is_over = true;
  other.join();
  for (const auto& [function, begin, end] : ran) {
    std::printf(R"({"fact": "ran", "function": "%s", "time_ns": [%lld, %lld], "cpu_ns": [%lld, %lld]})"
                "\n",
                function, static_cast<long long>(begin.time_ns), static_cast<long long>(end.time_ns),
                static_cast<long long>(begin.cpu_ns), static_cast<long long>(end.cpu_ns));
  }
  return 0;
}
