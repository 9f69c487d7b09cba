// The kernels of a trace that took longest, how busy each GPU was, and what the report advises.
#include <gprof/library.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace {

struct Sum {
  long long count = 0, total_ns = 0;
};

void PrintKernels(const gprof::Trace& trace) {
  std::map<gprof::NameId, Sum> sums;
  for (const gprof::GpuOp& op : trace.ops) {
    if (op.kind != gprof::OpKind::kKernel) continue;
    Sum& sum = sums[op.name];
    ++sum.count;
    sum.total_ns += op.DurationNs();
  }
  std::vector<std::pair<gprof::NameId, Sum>> rows(sums.begin(), sums.end());
  std::sort(rows.begin(), rows.end(),
            [](const auto& a, const auto& b) { return a.second.total_ns > b.second.total_ns; });
  for (const auto& [name, sum] : rows)
    std::printf("kernel %s: %lld, %lld ns\n", std::string(trace.Text(name)).c_str(), sum.count, sum.total_ns);
}

void PrintResults(const gprof::Trace& trace) {
  for (const gprof::AnalysisResult& result : gprof::RunAllAnalyses(trace)) {
    for (const gprof::Metric& metric : result.metrics) {
      if (metric.id == "gpu.busy_percent") std::printf("%s busy: %.1f%%\n", metric.scope.c_str(), metric.value);
    }
    for (const gprof::Finding& finding : result.findings)
      std::printf("%s: %s\n", finding.id.c_str(), finding.message.c_str());
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: longest_kernels TRACE\n");
    return 2;
  }
  try {
    const gprof::Trace trace = gprof::ReadTrace(argv[1]);
    if (!trace.health.IsComplete()) std::printf("the trace is not complete\n");
    PrintKernels(trace);
    PrintResults(trace);
    return 0;
  } catch (const gprof::Error& error) {
    std::fprintf(stderr, "%s\n%s\n", error.what(), error.hint().c_str());
    return static_cast<int>(error.code());
  }
}
