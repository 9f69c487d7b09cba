// Steps of calls from lines that are known: lines COUNT.
#include <nvtx3/nvToolsExt.h>

#include <cstdio>
#include <cstdlib>

#include "cuda_work.h"

namespace {

// Its line is on the stack of the calls within it.
__attribute__((noinline)) int Both() {
  int result = cuda_work::Launch();
  result |= cuda_work::Launch();
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  const int count = argc > 1 ? std::atoi(argv[1]) : 100;
  if (!cuda_work::Open()) return 2;
  for (int i = 0; i < count; ++i) {
    nvtxRangePushA("step");
    int result = cuda_work::Launch();  // ALONE
    result |= Both();                  // BOTH
    result |= cuda_work::Synchronize();
    nvtxRangePop();
    if (result != 0) return 3;
  }
  std::printf("%d steps\n", count);
  return 0;
}
