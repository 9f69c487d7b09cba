// The program's own ranges by path: time on the host, GPU time of what was launched in them, and GPU idle time.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/facts/side_by_side.h"
#include "analysis/facts/statistics.h"
#include "analysis/ranges/nvtx_tables.h"
#include "analysis/ranges/range_projection.h"
#include "analysis/ranges/range_times.h"
#include "analysis/result/analyses.h"
#include "analysis/result/metrics.h"
#include "analysis/result/tables.h"
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
  return {{"percent", "Time (%)", Unit::kPercent, false},
          {"total_ns", "Total", Unit::kNs, false},
          {"self_ns", "Self", Unit::kNs, false},
          {"count", "Count", Unit::kCount, false},
          {"gpu_busy_ns", "GPU busy", Unit::kNs, true},
          {"gpu_idle_ns", "GPU idle", Unit::kNs, true},
          {"gpu_idle_percent", "Idle (%)", Unit::kPercent, true},
          {"mean_ns", "Mean", Unit::kNs, true},
          {"median_ns", "Median", Unit::kNs, true},
          {"max_ns", "Max", Unit::kNs, true},
          {"kernels", "Kernels", Unit::kCount, true},
          {"min_ns", "Min", Unit::kNs, true},
          {"stddev_ns", "StdDev", Unit::kNs, true},
          {"lanes", "Lanes", Unit::kCount, true},
          {"path", "NVTX range", Unit::kText, false}};
}

std::vector<Cell> Row(const Trace& trace, const PathTimes& path, const RangeProjection::OfPath& projected) {
  const Statistics& times = path.times;
  return {PercentOf(times.total, MultiplySaturating(trace.end_ns - trace.start_ns, path.lanes)),
          times.total,
          path.self_ns,
          times.count,
          projected.busy.busy_ns(),
          path.gpu_idle_ns,
          PercentOf(path.gpu_idle_ns, times.total),
          times.mean,
          times.median,
          times.max,
          projected.kernels,
          times.min,
          times.stddev,
          path.lanes,
          std::string(trace.Text(path.path))};
}

Table RangeTable(const Trace& trace, const std::vector<PathTimes>& paths, const RangeProjection& projection,
                 const AnalysisOptions& options) {
  Table table{"nvtx",
              "NVTX ranges",
              Columns(),
              {},
              "Time (%): of the trace duration times the threads that opened the range (for overlapping ranges on "
              "one thread, times the most open at once). Self: without nested ranges. GPU busy: operations launched by "
              "the range's thread inside the range. GPU idle: of that thread's GPU while the range was open; Idle (%): "
              "of Total."};
  AddHistogramColumn(options, "median_ns", &table);
  for (const PathTimes& path : paths) {
    table.rows.push_back(Row(trace, path, projection.Of(path.path)));
    AddHistogramCell(options, path.times, &table.rows.back());
  }
  CutRows(&table, options.max_rows);
  return table;
}

}  // namespace

AnalysisResult RunNvtx(const AnalysisInput& input, const AnalysisOptions& options) {
  const Trace& trace = input.trace();
  std::vector<PathTimes> paths;
  std::optional<RangeProjection> of_ranges;
  RunSideBySide(input, {[&] { of_ranges.emplace(input); }, [&] { paths = TimesByPath(input, SpreadFor(options)); }});
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
