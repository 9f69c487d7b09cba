// The program's own ranges by path: time on the host, GPU time of what was launched in them, and GPU idle time.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/facts/shared_facts.h"
#include "analysis/result/metrics.h"
#include "analysis/result/statistics.h"
#include "analysis/result/tables.h"
#include "analysis/topics/analyses.h"
#include "analysis/topics/ranges/range_projection.h"
#include "analysis/topics/ranges/range_times.h"
#include "base/saturate.h"

namespace gprof {
namespace {

// Programs that number their ranges ("step 1234567") would drown everything else in metrics.
constexpr size_t kMostPathsWithMetrics = 10'000;

void AddPathMetrics(const Trace& trace, const std::vector<PathTimes>& paths, const RangeProjection& projection,
                    AnalysisResult* result) {
  for (size_t i = 0; i < std::min(paths.size(), kMostPathsWithMetrics); ++i) {
    const std::string scope = "nvtx:" + std::string(trace.Text(paths[i].path));
    const RangeProjection::OfPath projected = projection.Of(paths[i].path);
    AddMetric(result, "nvtx.ranges", paths[i].times.count, scope);
    AddMetric(result, "nvtx.total_ns", paths[i].times.total, scope);
    AddMetric(result, "nvtx.self_ns", paths[i].self_ns, scope);
    AddMetric(result, "nvtx.gpu_busy_ns", projected.busy.busy_ns(), scope);
    AddMetric(result, "nvtx.gpu_idle_ns", paths[i].gpu_idle_ns, scope);
    AddMetric(result, "nvtx.kernels", projected.kernels, scope);
  }
}

std::vector<Column> Columns() {
  return {{"percent", "Time (%)", Unit::kPercent, false,
           "of the trace duration times the threads that opened the range (for overlapping ranges on one thread, times "
           "the most open at once)"},
          {"total_ns", "Total", Unit::kNs, false},
          {"self_ns", "Self", Unit::kNs, false, "without nested ranges"},
          {"count", "Count", Unit::kCount, false},
          {"gpu_busy_ns", "GPU busy", Unit::kNs, true, "operations launched by the range's thread inside the range"},
          {"gpu_idle_ns", "GPU idle", Unit::kNs, true, "of that thread's GPU while the range was open"},
          {"gpu_idle_percent", "Idle (%)", Unit::kPercent, true, ColumnRole::kOwn, "of Total"},
          {"mean_ns", "Mean", Unit::kNs, true, ColumnRole::kMean},
          {"median_ns", "Median", Unit::kNs, true, ColumnRole::kMedian},
          {"max_ns", "Max", Unit::kNs, true, ColumnRole::kMost},
          {"kernels", "Kernels", Unit::kCount, true},
          {"min_ns", "Min", Unit::kNs, true, ColumnRole::kLeast},
          {"stddev_ns", "StdDev", Unit::kNs, true, ColumnRole::kDeviation},
          {"lanes", "Lanes", Unit::kCount, true, ColumnRole::kOwn},
          {"path", "NVTX range", Unit::kText, false}};
}

std::vector<Cell> Row(const Trace& trace, const PathTimes& path, const RangeProjection::OfPath& projected) {
  const Statistics& times = path.times;
  const bool is_known = path.known_ns > 0 || times.total == 0;  // else all of it lies between two windows
  const auto known = [&](auto value) { return is_known ? Cell(value) : Cell(); };
  return {PercentOf(times.total, MultiplySaturating(trace.end_ns - trace.start_ns, path.lanes)),
          times.total,
          path.self_ns,
          times.count,
          known(projected.busy.busy_ns()),
          known(path.gpu_idle_ns),
          known(PercentOf(path.gpu_idle_ns, path.known_ns)),
          times.mean,
          times.median,
          times.max,
          known(projected.kernels),
          times.min,
          times.stddev,
          path.lanes,
          std::string(trace.Text(path.path))};
}

// `python -m nvtx` makes a range of each function, "file.py:12(name)". What the interpreter itself does around the
// program and to import modules takes longest, and tells nobody anything.
bool IsOfInterpreter(std::string_view path) {
  constexpr std::string_view kDomain = "nvtx.py/";
  if (!path.starts_with(kDomain)) return false;
  const std::string_view function = path.substr(path.rfind('/') + 1);
  return function.starts_with("<frozen ") || function.starts_with("runpy.py:");
}

std::vector<PathTimes> WithInterpreterLast(const Trace& trace, std::vector<PathTimes> paths) {
  std::stable_partition(paths.begin(), paths.end(),
                        [&](const PathTimes& path) { return !IsOfInterpreter(trace.Text(path.path)); });
  return paths;
}

Table RangeTable(const Trace& trace, const std::vector<PathTimes>& paths, const RangeProjection& projection,
                 const AnalysisOptions& options) {
  Table table{"nvtx", "NVTX ranges", Columns(), {}, "", RowsOfRanks::kAddUp};
  AddHistogramColumn(options, "median_ns", &table);
  for (const PathTimes& path : WithInterpreterLast(trace, paths)) {
    table.rows.push_back(Row(trace, path, projection.Of(path.path)));
    AddHistogramCell(options, path.times, &table.rows.back());
  }
  if (!trace.base_times.empty())
    table.note = "GPU busy, GPU idle, its share and kernels are of the part of Total that lies within windows.";
  CutRows(&table, options.max_rows);
  return table;
}

}  // namespace

AnalysisResult RunNvtx(const AnalysisInput& input, const AnalysisOptions& options) {
  const Trace& trace = input.trace();
  std::vector<PathTimes> paths;
  std::optional<RangeProjection> of_ranges;
  RunSideBySide(input.shared().threads(),
                {[&] { of_ranges.emplace(input); }, [&] { paths = TimesByPath(input, SpreadFor(options)); }});
  const RangeProjection& projection = *of_ranges;
  AnalysisResult result;
  result.tables.push_back(RangeTable(trace, paths, projection, options));
  AddMetric(&result, "nvtx.ranges", trace.ranges.size());
  AddMetric(&result, "nvtx.marks", trace.marks.size());
  AddPathMetrics(trace, paths, projection, &result);
  result.tables.push_back(GraphWorkTable(input, options.max_rows));
  result.tables.push_back(PayloadTable(trace, options.max_rows, &result));
  return result;
}

}  // namespace gprof
