// Where the time of `gprof-cli report` goes: reading a trace step by step, facts that analyses share, and each
// analysis. Time on a core, the best of some rounds.
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>

#include "analysis/causes/shared_causes.h"
#include "analysis/facts/shared_facts.h"
#include "base/machine/process_memory.h"
#include "common/arguments.h"
#include "gprof/analysis.h"
#include "gprof/trace.h"
#include "trace/file/mapped_file.h"
#include "trace/file/reader.h"
#include "trace/file/typed_rows.h"

namespace {

using namespace gprof;

constexpr const char* kUsage =
    "usage: reader_bench -r ROUNDS --trace FILE [--only ANALYSIS]\n"
    "With --only nothing but that analysis is measured, for profilers: `all` for all of them.\n";

// Time that this process has had a core: what else runs on the machine does not count.
double CpuNs() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return 1e9 * static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec);
}

class Stopwatch {
 public:
  Stopwatch(std::size_t rounds, uint64_t records) : rounds_(rounds), records_(static_cast<double>(records)) {}

  // What prepare() returns is handed to work; only that is timed.
  template <class Prepare, class Work>
  void Measure(const char* name, Prepare&& prepare, Work&& work) const {
    double best_ns = std::numeric_limits<double>::max();
    for (std::size_t i = 0; i < rounds_; ++i) {
      auto prepared = prepare();
      const double start_ns = CpuNs();
      work(prepared);
      best_ns = std::min(best_ns, CpuNs() - start_ns);
    }
    std::printf("%-24s %9.3f ms %8.2f ns a record\n", name, best_ns / 1e6, best_ns / records_);
  }

 private:
  std::size_t rounds_;
  double records_;
};

void MeasureReading(const Stopwatch& stopwatch, const MappedFile& file) {
  const auto bytes = [&] { return file.bytes(); };
  stopwatch.Measure("read: headers", bytes, [](std::string_view b) { (void)CountRecords(b); });
  stopwatch.Measure("read: checksums", bytes, [](std::string_view b) {
    Reader reader(b);
    for (Chunk chunk; reader.Next(&chunk);) {
    }
  });
  stopwatch.Measure("read: and decode", bytes, [](std::string_view b) {
    Reader reader(b);
    RowDecoder decoder;
    for (Chunk chunk; reader.Next(&chunk);) decoder.Decode(chunk, [](auto) {});
  });
  stopwatch.Measure("read: and join", bytes, [](std::string_view b) { (void)LoadTraceFromMemory(b, ""); });
}

void MeasureFacts(const Stopwatch& stopwatch, const Trace& trace) {
  const auto input = [&] { return AnalysisInput(trace); };
  stopwatch.Measure("fact: host", input, [](const AnalysisInput& i) { i.shared().host(); });
  stopwatch.Measure("fact: kernels", input, [](const AnalysisInput& i) { i.shared().kernels(); });
  stopwatch.Measure("fact: window", input, [](const AnalysisInput& i) { (void)i.shared().window_ns(); });
  stopwatch.Measure("fact: gap causes", input, [&](const AnalysisInput& i) {
    for (uint32_t device = 0; device < trace.device_ops.size(); ++device) i.causes().of_gaps(device);
  });
}

void MeasureEachAnalysis(const Stopwatch& stopwatch, const Trace& trace, const std::string& only) {
  const AnalysisInput shared(trace);
  for (const Analysis& analysis : AllAnalyses()) {
    if (!only.empty() && analysis.name != only) continue;
    analysis.run(shared, {});  // makes the facts
    stopwatch.Measure(
        std::string(analysis.name).c_str(), [] { return 0; }, [&](int) { analysis.run(shared, {}); });
  }
}

void MeasureAllAnalyses(const Stopwatch& stopwatch, const Trace& trace) {
  stopwatch.Measure(
      "all analyses", [&] { return AnalysisInput(trace); },
      [](const AnalysisInput& input) {
        for (const Analysis& analysis : AllAnalyses()) analysis.run(input, {});
      });
}

}  // namespace

int main(int argc, char** argv) {
  gprof::KeepFreedMemory();
  gprof::examples::Arguments arguments(argc, argv, kUsage);
  const std::size_t rounds = arguments.Number("-r", 5);
  const std::string path = arguments.Text("--trace", ""), only = arguments.Text("--only", "");
  arguments.Finish();
  const MappedFile file(path);
  const Trace trace = LoadTraceFromMemory(file.bytes(), path);
  std::printf("%llu records, %zu operations, %zu calls, %zu ranges\n",
              static_cast<unsigned long long>(trace.record_count), trace.ops.size(), trace.api_calls.size(),
              trace.ranges.size());
  const Stopwatch stopwatch(rounds, trace.record_count);
  if (only.empty()) MeasureReading(stopwatch, file);
  if (only.empty()) MeasureFacts(stopwatch, trace);
  if (only != "all") MeasureEachAnalysis(stopwatch, trace, only);
  if (only.empty() || only == "all") MeasureAllAnalyses(stopwatch, trace);
  return 0;
}
