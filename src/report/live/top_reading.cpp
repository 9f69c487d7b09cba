#include "report/live/top_reading.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string_view>
#include <variant>

#include "analysis/facts/shared_facts.h"
#include "analysis/result/tables.h"
#include "report/report.h"

namespace gprof {
namespace {

void TakeGpuMetric(const Metric& metric, std::map<std::string, TopGpu>* gpus) {
  constexpr std::string_view kCause = "idle.", kTime = "_ns";
  TopGpu& gpu = (*gpus)[metric.scope];
  gpu.name = metric.scope;
  const auto value_ns = static_cast<int64_t>(metric.value);
  if (metric.id == "gpu.busy_ns") gpu.busy_ns = value_ns;
  const bool is_cause = metric.id.starts_with(kCause) && metric.id.ends_with(kTime) && metric.id != "idle.preempted_ns";
  if (!is_cause || value_ns <= 0) return;
  gpu.idle_ns.emplace_back(metric.id.substr(kCause.size(), metric.id.size() - kCause.size() - kTime.size()), value_ns);
}

void TakeTotal(const Metric& metric, TopReading* reading) {
  if (metric.id == "step.count") reading->step_count = static_cast<int64_t>(metric.value);
  if (metric.id == "step.median_ns") reading->median_step_ns = metric.value;
  if (metric.id == "memcpy.h2d_bytes") reading->h2d_bytes = static_cast<int64_t>(metric.value);
  if (metric.id == "memcpy.d2h_bytes") reading->d2h_bytes = static_cast<int64_t>(metric.value);
}

void TakeKernels(const Table& table, TopReading* reading) {
  for (const std::vector<Cell>& row : table.rows) {
    reading->kernels.push_back({ValueAt<std::string>(table, row, "name"), ValueAt<int64_t>(table, row, "total_ns"),
                                ValueAt<int64_t>(table, row, "count")});
  }
}

}  // namespace

TopReading TopOf(const Trace& trace, int64_t time_ns, uint32_t most_kernels) {
  TopReading reading;
  reading.time_ns = time_ns;
  std::vector<const Analysis*> analyses;
  for (const char* const name : {"devices", "idle", "kernels", "memcpy", "steps"}) {
    const Analysis* const analysis = FindAnalysis(name);
    if (analysis != nullptr) analyses.push_back(analysis);
  }
  AnalysisOptions options;
  options.max_rows = most_kernels;
  const Report report = RunAnalyses(trace, analyses, options);
  std::map<std::string, TopGpu> gpus;
  for (const Section& section : report.sections) {
    for (const Metric& metric : section.result.metrics) {
      const bool is_of_gpu = metric.scope.starts_with("gpu") && metric.scope.find(':') == std::string::npos;
      if (metric.scope.empty()) TakeTotal(metric, &reading);
      if (is_of_gpu) TakeGpuMetric(metric, &gpus);
    }
    if (const Table* const kernels = FindTable(section.result, "kernels")) TakeKernels(*kernels, &reading);
    const Table* const steps = FindTable(section.result, "steps");
    if (steps != nullptr && !steps->rows.empty()) {
      reading.step = ValueAt<std::string>(*steps, steps->rows.front(), "path");
    }
  }
  for (auto& [name, gpu] : gpus) {
    std::ranges::sort(gpu.idle_ns, std::greater(), [](const auto& x) { return x.second; });
    reading.gpus.push_back(std::move(gpu));
  }
  return reading;
}

StepDurations StepsThatEndedAfter(const Trace& trace, int64_t time_ns) {
  StepDurations times;
  const std::optional<StepChoice> choice = FindStep(trace, "");
  if (!choice) return times;
  times.step = trace.Text(choice->path);
  for (const uint32_t range : choice->ranges) {
    const NvtxRange& one = trace.ranges[range];
    if (one.end_ns > time_ns) times.durations_ns.push_back(one.end_ns - one.start_ns);
  }
  return times;
}

}  // namespace gprof
