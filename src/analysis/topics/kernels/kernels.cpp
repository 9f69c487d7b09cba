// Time on the GPU by kernel.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "analysis/facts/shared_facts.h"
#include "analysis/result/metrics.h"
#include "analysis/result/statistics.h"
#include "analysis/result/tables.h"
#include "analysis/topics/analyses.h"
#include "analysis/topics/kernels/occupancy_calculator.h"
#include "analysis/topics/kernels/sampled_kernels.h"
#include "base/saturate.h"
#include "base/units.h"

namespace gprof {
namespace {

// Programs that make kernels by the thousand would drown everything else in metrics.
constexpr uint32_t kMostKernelsWithMetrics = 10'000;

// By group: the occupancy that its launches allow, the mean over them; nothing where that of one is not known.
std::vector<Cell> OccupanciesOf(const AnalysisInput& input) {
  const Trace& trace = input.trace();
  const KernelGroups& kernels = input.shared().kernels();
  std::vector<double> sums(kernels.size());
  std::vector<int64_t> known(kernels.size()), counts(kernels.size());
  const std::vector<OpFacts::Sum>& ops = input.shared().ops().sums();
  for (uint32_t i = 0; i < ops.size(); ++i) {
    const uint32_t group = kernels.of_traits()[i];
    if (group == kNone || ops[i].count == 0) continue;
    counts[group] += ops[i].count;
    const PackedOps::Traits& traits = trace.ops.TraitsAt(i);
    if (traits.shape == kNone || traits.device == kNone) continue;
    const auto occupancy = OccupancyOf(trace.devices[traits.device].properties, trace.shapes[traits.shape]);
    if (!occupancy) continue;
    sums[group] += occupancy->percent * static_cast<double>(ops[i].count);
    known[group] += ops[i].count;
  }
  std::vector<Cell> cells(kernels.size());
  for (uint32_t i = 0; i < cells.size(); ++i) {
    if (known[i] > 0 && known[i] == counts[i]) cells[i] = sums[i] / static_cast<double>(known[i]);
  }
  return cells;
}

void AddKernelMetrics(const KernelGroups& kernels, const std::vector<Statistics>& times,
                      const std::vector<Cell>& occupancies, AnalysisResult* result) {
  for (uint32_t i = 0; i < std::min(kernels.size(), kMostKernelsWithMetrics); ++i) {
    const std::string scope = "kernel:" + kernels.Name(i);
    AddMetric(result, "kernels.count", times[i].count, scope);
    AddMetric(result, "kernels.total_ns", times[i].total, scope);
    AddMetric(result, "kernels.median_ns", times[i].median, scope);
    const auto* const occupancy = std::get_if<double>(&occupancies[i]);
    if (occupancy != nullptr) AddMetric(result, "kernels.occupancy_percent", *occupancy, scope);
  }
}

// Columns and metrics of what was sampled of kernels.
class SampledColumns {
 public:
  explicit SampledColumns(const AnalysisInput& input) : kernels_(input) {}

  void AddColumns(Table* table) const {
    if (!kernels_.has_any()) return;
    for (const KernelCounter& counter : kKernelCounters) {
      if (counter.title.empty()) continue;
      table->columns.push_back({std::string(counter.column), std::string(counter.title), Unit::kPercent, true,
                                ColumnRole::kOwn, std::string(counter.name) + ", sampled"});
    }
    table->columns.push_back(
        {"limited_by", "Limit", Unit::kText, true, ColumnRole::kOwn,
         "memory, compute: one of DRAM, tensor cores and issue is used to 60% or more; latency: none is"});
  }
  void AddCells(uint32_t group, std::vector<Cell>* row) const {
    if (!kernels_.has_any()) return;
    for (const KernelCounter& counter : kKernelCounters) {
      if (counter.title.empty()) continue;
      const std::optional<Estimate> estimate = kernels_.Of(counter, group);
      row->push_back(estimate ? Cell(estimate->value) : Cell());
    }
    const std::string_view limit = kernels_.LimitOf(group);
    row->push_back(limit.empty() ? Cell() : Cell(std::string(limit)));
  }
  void AddMetrics(const KernelGroups& kernels, const std::vector<Statistics>& times, AnalysisResult* result) const {
    if (!kernels_.has_any()) return;
    double known_ns = 0, all_ns = 0;
    for (uint32_t i = 0; i < kernels.size(); ++i) {
      const auto time_ns = static_cast<double>(times[i].total);
      all_ns += time_ns;
      if (kernels_.Of(kKernelCounters[0], i)) known_ns += time_ns;
      for (const KernelCounter& counter : kKernelCounters) {
        const std::optional<Estimate> estimate = kernels_.Of(counter, i);
        if (estimate) AddMetric(result, counter.metric, estimate->value, "kernel:" + kernels.Name(i));
      }
    }
    if (all_ns > 0) AddMetric(result, "gpu.rated_kernel_percent", 100 * known_ns / all_ns);
  }

 private:
  SampledKernels kernels_;
};

}  // namespace

AnalysisResult RunKernels(const AnalysisInput& input, const AnalysisOptions& options) {
  const KernelGroups& kernels = input.shared().kernels();
  const std::vector<Statistics>& times = input.shared().kernel_times();
  SaturatingSum total_ns;
  for (const Statistics& of_kernel : times) total_ns += of_kernel.total;
  const int64_t graphs = input.shared().ops().Count(OpKind::kGraph);

  AnalysisResult result;
  const std::vector<Cell> occupancies = OccupanciesOf(input);
  Table table{"kernels", "Kernels", TimeColumns(), {}, "Percent of total kernel time.", RowsOfRanks::kAddUp};
  table.columns.push_back({"name", "Name", Unit::kText, false});
  table.columns.push_back({"occupancy_percent", "Occupancy", Unit::kPercent, true, ColumnRole::kCommon,
                           "that the launch allows, the mean over the launches"});
  const SampledColumns sampled(input);
  sampled.AddColumns(&table);
  for (uint32_t i = 0; i < kernels.size(); ++i) {
    table.rows.push_back(TimeCells(times[i], total_ns));
    table.rows.back().emplace_back(kernels.Name(i));
    table.rows.back().push_back(occupancies[i]);
    sampled.AddCells(i, &table.rows.back());
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
  AddKernelMetrics(kernels, times, occupancies, &result);
  sampled.AddMetrics(kernels, times, &result);
  return result;
}

}  // namespace gprof
