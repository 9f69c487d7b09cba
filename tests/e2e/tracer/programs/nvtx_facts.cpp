// Uses NVTX from the program (C++), from a linked shared object and from one opened late (both C), and from many
// threads. usage: nvtx_facts LATE_LIBRARY [cuda]   With `cuda`, cuInit comes between the calls.
#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#include "every_call.h"
#pragma GCC diagnostic pop

extern "C" void EveryCallOfDso();

namespace {

constexpr int kThreads = 16, kRangesPerThread = 500;

void ManyThreads() {
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([t] {
      const std::string name = "thread " + std::to_string(t);
      for (int i = 0; i < kRangesPerThread; ++i) {
        nvtxRangePushA(name.c_str());
        nvtxRangePop();
      }
    });
  }
  for (std::thread& t : threads) t.join();
}

// Starts on one thread, ends on another.
void AcrossThreads() {
  nvtxRangeId_t id = 0;
  std::thread([&] {
    id = nvtxRangeStartA("across");
    Expect("start", "", "across", 0, 0, 0, 0);
  }).join();
  nvtxRangeEnd(id);
  Expect("end", "", "", 0, 0, 0, 0);
}

void InitializeCuda() {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (driver != nullptr) reinterpret_cast<int (*)(unsigned)>(dlsym(driver, "cuInit"))(0);
}

// Opened, used from two threads and closed: its strings and its NVTX state are gone afterwards.
void UseLateLibrary(const char* path) {
  void* late = dlopen(path, RTLD_NOW);
  if (late == nullptr) std::exit(3);
  reinterpret_cast<void (*)()>(dlsym(late, "EveryCallOfDso"))();
  std::thread([late] { reinterpret_cast<void (*)()>(dlsym(late, "EveryCallOfDso"))(); }).join();
  dlclose(late);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  EveryCall();
  EveryCallOfDso();
  if (argc > 2) InitializeCuda();
  AcrossThreads();
  UseLateLibrary(argv[1]);
  UseLateLibrary(argv[1]);
  ManyThreads();
  return 0;
}
