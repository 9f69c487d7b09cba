// How fast a capture of another tool is read: time on a core, bytes and records a second, memory.
#include <sys/resource.h>
#include <time.h>

#include <cstdint>
#include <cstdio>
#include <string>

#include "base/machine/process_memory.h"
#include "common/arguments.h"
#include "import/read_trace.h"

namespace {

constexpr const char* kUsage = "usage: import_bench -r ROUNDS --trace FILE\n";

double CpuSeconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double PeakMiB() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

}  // namespace

int main(int argc, char** argv) {
  gprof::KeepFreedMemory();
  gprof::examples::Arguments arguments(argc, argv, kUsage);
  const std::size_t rounds = arguments.Number("-r", 3);
  const std::string path = arguments.Text("--trace", "");
  arguments.Finish();
  for (std::size_t i = 0; i < rounds; ++i) {
    const double start = CpuSeconds();
    const gprof::Trace trace = gprof::ReadTrace(path);
    const double seconds = CpuSeconds() - start;
    const auto bytes = static_cast<double>(trace.health.file_bytes), records = static_cast<double>(trace.record_count);
    std::printf(
        "%.3f s on a core: %.0f MB/s, %.2f M records/s (%.0f bytes, %.0f records, %zu operations), peak %.0f MiB\n",
        seconds, bytes / seconds / 1e6, records / seconds / 1e6, bytes, records, trace.ops.size(), PeakMiB());
  }
  return 0;
}
