// Steps that other tests delay: steps COUNT loads for a millisecond, launches and waits in each, and says at the end
// how often it did.
#include <nvtx3/nvToolsExt.h>
#include <time.h>

#include <cstdio>
#include <cstdlib>

#include "cuda_work.h"

namespace {

uint64_t NowNs() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

void Load() {
  nvtxRangePushA("load");
  for (const uint64_t end = NowNs() + 1000000; NowNs() < end;) {
  }
  nvtxRangePop();
}

}  // namespace

int main(int argc, char** argv) {
  const int count = argc > 1 ? std::atoi(argv[1]) : 100;
  const bool has_cuda = cuda_work::Open();
  for (int i = 0; i < count; ++i) {
    nvtxRangePushA("step");
    Load();
    if (has_cuda && (cuda_work::Launch() != 0 || cuda_work::Synchronize() != 0)) return 3;
    nvtxRangePop();
  }
  std::printf("%d steps\n", count);
  return argc > 2 ? std::atoi(argv[2]) : 0;
}
