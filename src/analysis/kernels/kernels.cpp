// Time on the GPU by kernel.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "analysis/facts/shared_facts.h"
#include "analysis/facts/statistics.h"
#include "analysis/result/analyses.h"
#include "analysis/result/metrics.h"
#include "analysis/result/tables.h"
#include "base/saturate.h"
#include "base/units.h"

namespace gprof {
namespace {

// Programs that make kernels by the thousand would drown everything else in metrics.
constexpr uint32_t kMostKernelsWithMetrics = 10'000;

void AddKernelMetrics(const KernelGroups& kernels, const std::vector<Statistics>& times, AnalysisResult* result) {
  for (uint32_t i = 0; i < std::min(kernels.size(), kMostKernelsWithMetrics); ++i) {
    const std::string scope = "kernel:" + kernels.Name(i);
    AddMetric(result, "kernels.count", times[i].count, scope);
    AddMetric(result, "kernels.total_ns", times[i].total, scope);
    AddMetric(result, "kernels.median_ns", times[i].median, scope);
  }
}

}  // namespace

AnalysisResult RunKernels(const AnalysisInput& input, const AnalysisOptions& options) {
  const KernelGroups& kernels = input.shared().kernels();
  const std::vector<Statistics>& times = input.shared().kernel_times();
  SaturatingSum total_ns;
  for (const Statistics& of_kernel : times) total_ns += of_kernel.total;
  const int64_t graphs = input.shared().ops().Count(OpKind::kGraph);

  AnalysisResult result;
  Table table{"kernels", "Kernels", TimeColumns(), {}, "Percent of total kernel time."};
  table.columns.push_back({"name", "Name", Unit::kText, false});
  for (uint32_t i = 0; i < kernels.size(); ++i) {
    table.rows.push_back(TimeCells(times[i], total_ns));
    table.rows.back().emplace_back(kernels.Name(i));
  }
  SortAndCut(&table, kTotalNsColumn, kTimeColumnCount, options.max_rows);
  if (graphs > 0) {
    table.note += " Not included: " + CountOf(graphs, "graph launch", "graph launches") + " recorded as a whole.";
  }
  result.tables.push_back(std::move(table));
  AddMetric(&result, "kernels.count", kernels.kernels());
  AddMetric(&result, "kernels.total_ns", total_ns);
  AddMetric(&result, "kernels.distinct", kernels.size());
  AddMetric(&result, "launches.count", input.shared().calls().CountLaunches());
  AddMetric(&result, "graphs.launches", graphs);
  AddKernelMetrics(kernels, times, &result);
  return result;
}

}  // namespace gprof
