// What one NVTX call costs the program, on a machine without a GPU too.
#include "nvtx_bench.h"

#include <thread>
#include <vector>

#include "common/arguments.h"

using namespace gprof::bench;

namespace {

void PushAndPopInThreads(std::size_t count, std::size_t thread_count) {
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < thread_count; ++t) {
    threads.emplace_back([n = count / thread_count] {
      for (std::size_t i = 0; i < n; ++i) {
        nvtxRangePushA("step");
        nvtxRangePop();
        EndOfRound();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

int main(int argc, char** argv) {
  gprof::examples::Arguments arguments(argc, argv,
                                       "nvtx_bench [-n COUNT] [-r REPETITIONS] [--only NAMES] [--processor-time]");
  const std::size_t count = arguments.Number("-n", 1'000'000);
  const bool counts_processor = arguments.Switch("--processor-time");
  Samples samples(arguments.Number("-r", 5), arguments.Text("--only", ""), counts_processor);
  arguments.Finish();
  MeasureNvtx(samples, count);
  if (!counts_processor) {
    samples.Measure("nvtx_push_pop_4_threads", count, [](std::size_t n) { PushAndPopInThreads(n, 4); });
  }
  samples.Print();
  return 0;
}
