// The program's own ranges by path, and the GPU time of what was launched in them.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "analysis/analyses.h"
#include "analysis/metrics.h"
#include "analysis/names.h"
#include "analysis/nvtx_tables.h"
#include "analysis/range_projection.h"
#include "analysis/statistics.h"
#include "analysis/tables.h"

namespace gprof {
namespace {

// Programs that number their ranges ("step 1234567") would drown everything else in metrics.
constexpr size_t kMostPathsWithMetrics = 10'000;

struct PathTimes {
  NameId path;
  Statistics times;
};

std::vector<PathTimes> TimesByPath(const Trace& trace) {
  Groups durations(trace.strings.size());
  for (const NvtxRange& range : trace.ranges) durations.Count(range.path.value);
  durations.Seal();
  for (const NvtxRange& range : trace.ranges) durations.Add(range.path.value, range.DurationNs());
  std::vector<PathTimes> paths;
  for (uint32_t i = 0; i < durations.size(); ++i) {
    if (!durations.Of(i).empty()) paths.push_back({NameId{i}, Summarize(durations.Of(i))});
  }
  std::sort(paths.begin(), paths.end(), [&](const PathTimes& a, const PathTimes& b) {
    if (a.times.total != b.times.total) return a.times.total > b.times.total;
    return trace.Text(a.path) < trace.Text(b.path);
  });
  return paths;
}

void AddPathMetrics(const Trace& trace, const std::vector<PathTimes>& paths, const RangeProjection& projection,
                    AnalysisResult* result) {
  for (size_t i = 0; i < std::min(paths.size(), kMostPathsWithMetrics); ++i) {
    const std::string scope = "nvtx:" + std::string(trace.Text(paths[i].path));
    const RangeProjection::OfPath projected = projection.Of(paths[i].path);
    AddMetric(result, "nvtx.ranges", paths[i].times.count, scope);
    AddMetric(result, "nvtx.total_ns", paths[i].times.total, scope);
    AddMetric(result, "nvtx.gpu_busy_ns", projected.busy.busy_ns(), scope);
    AddMetric(result, "nvtx.kernels", projected.kernels, scope);
  }
}

std::vector<Column> Columns() {
  std::vector<Column> columns = TimeColumns();
  columns.push_back({"gpu_busy_ns", "GPU busy", Unit::kNs, false});
  columns.push_back({"kernels", "Kernels", Unit::kCount, false});
  columns.push_back({"path", "NVTX range", Unit::kText, false});
  return columns;
}

}  // namespace

AnalysisResult RunNvtx(const Trace& trace, const AnalysisOptions& options) {
  const std::vector<PathTimes> paths = TimesByPath(trace);
  const RangeProjection projection(trace);
  AnalysisResult result;
  Table table{"nvtx", "NVTX ranges", Columns(), {},
              "Percent of the length of the trace; ranges of several threads add up. GPU busy: time of the operations "
              "that the range's thread launched in it."};
  for (const PathTimes& path : paths) {
    const RangeProjection::OfPath projected = projection.Of(path.path);
    std::vector<Cell> row = TimeCells(path.times, trace.end_ns - trace.start_ns);
    row.emplace_back(projected.busy.busy_ns());
    row.emplace_back(projected.kernels);
    row.emplace_back(std::string(trace.Text(path.path)));
    table.rows.push_back(std::move(row));
  }
  CutRows(&table, options.max_rows);
  result.tables.push_back(std::move(table));
  AddMetric(&result, "nvtx.ranges", trace.ranges.size());
  AddMetric(&result, "nvtx.marks", trace.marks.size());
  AddPathMetrics(trace, paths, projection, &result);
  result.tables.push_back(GraphWorkTable(trace, options.max_rows));
  result.tables.push_back(PayloadTable(trace, options.max_rows, &result));
  return result;
}

}  // namespace gprof
