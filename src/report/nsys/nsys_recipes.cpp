#include "report/nsys/nsys_recipes.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/facts/operations/nccl_kernels.h"
#include "analysis/facts/operations/operations.h"
#include "analysis/facts/shared_facts.h"
#include "analysis/facts/time/interval_set.h"
#include "analysis/result/display_names.h"
#include "analysis/result/statistics.h"
#include "analysis/result/tables.h"
#include "base/saturate.h"

namespace gprof {
namespace {

constexpr int64_t kBins = 30;
constexpr uint32_t kLongestGaps = 50;

Column Named(const char* name, Unit unit) { return {name, name, unit}; }

// The run in bins of one length.
struct Bins {
  int64_t start_ns = 0, length_ns = 1;
  explicit Bins(const Trace& trace)
      : start_ns(trace.start_ns), length_ns(std::max<int64_t>((trace.end_ns - trace.start_ns) / kBins, 1)) {}
  int64_t StartOf(int64_t bin) const { return start_ns + bin * length_ns; }

  // In percent of each.
  std::vector<double> Shares(const IntervalSet& busy) const {
    std::vector<double> shares;
    IntervalSet::Cursor cursor(busy);
    for (int64_t bin = 0; bin < kBins; ++bin) {
      const int64_t ns = cursor.Covered(StartOf(bin), StartOf(bin + 1));
      shares.push_back(100 * static_cast<double>(ns) / static_cast<double>(length_ns));
    }
    return shares;
  }
};

IntervalSet BusyOf(const Trace& trace, uint32_t device) {
  IntervalSet busy;
  for (const Operation op : OperationsOf(trace, trace.device_ops[device])) busy.Add(op.start_ns(), op.end_ns());
  return busy;
}

// Of a range: what was launched within it, from the first to the last of them.
struct Projection {
  int64_t start_ns = INT64_MAX, end_ns = INT64_MIN;
};

std::vector<Projection> ProjectionsOf(const AnalysisInput& input) {
  const Trace& trace = input.trace();
  std::vector<Projection> projections(trace.ranges.size());
  for (const Operation op : OperationsOf(trace)) {
    const uint32_t call = input.shared().ops().CallOf(op);
    if (call == kNone) continue;
    for (uint32_t range = trace.api_calls.items()[call].range; range != kNone;) {
      Projection& p = projections[range];
      p.start_ns = std::min(p.start_ns, op.start_ns());
      p.end_ns = std::max(p.end_ns, op.end_ns());
      const uint32_t parent = trace.ranges.items()[range].parent;
      range = parent < range ? parent : kNone;  // parents come first, also in a trace that says otherwise
    }
  }
  return projections;
}

}  // namespace

Table NcclSum(const AnalysisInput& input) {
  const Trace& trace = input.trace();
  const NcclKernels nccl(trace);
  SamplesByName samples;
  for (const Operation op : OperationsOf(trace)) {
    if (nccl.Has(op.shared())) samples[{KernelName(trace, op.shared().name)}].push_back(op.duration_ns());
  }
  return TableOfSamples(std::move(samples), "Instances", Unit::kNs, {"Name"});
}

Table GpuGaps(const AnalysisInput& input) {
  AnalysisOptions options;
  options.max_rows = kLongestGaps;
  const AnalysisResult idle = FindAnalysis("idle")->run(input, options);
  Table table;
  table.columns = {Named("Duration (ns)", Unit::kNs), Named("Start (ns)", Unit::kNs),   Named("Device", Unit::kText),
                   Named("Cause", Unit::kText),       Named("NVTX Range", Unit::kText), Named("Next", Unit::kText)};
  for (const Table& gaps : idle.tables) {
    if (gaps.id != "gaps") continue;
    for (const auto& row : gaps.rows) {
      std::vector<Cell> cells;
      for (const char* key : {"duration_ns", "start_ns", "device", "split", "path", "after"}) {
        cells.push_back(row[FindColumn(gaps.columns, key)]);
      }
      table.rows.push_back(std::move(cells));
    }
  }
  return table;
}

Table NvtxGpuProjSum(const AnalysisInput& input) {
  const Trace& trace = input.trace();
  const std::vector<Projection> projections = ProjectionsOf(input);
  SamplesByName samples;
  for (uint32_t i = 0; i < projections.size(); ++i) {
    const Projection& p = projections[i];
    if (p.start_ns > p.end_ns) continue;
    const NvtxRange range = trace.ranges[i];
    samples[{range.is_push_pop ? "PushPop" : "StartEnd", NsysRangeName(trace, range)}].push_back(p.end_ns - p.start_ns);
  }
  return TableOfSamples(std::move(samples), "Range Instances", Unit::kNs, {"Style", "Range"});
}

Table GpuTimeUtilMap(const AnalysisInput& input) {
  const Trace& trace = input.trace();
  Table table;
  table.columns = {Named("Device", Unit::kText), Named("Bin", Unit::kCount), Named("Start (ns)", Unit::kNs),
                   Named("Duration (ns)", Unit::kNs), Named("Util (%)", Unit::kPercent)};
  const Bins bins(trace);
  for (uint32_t device = 0; device < trace.device_ops.size(); ++device) {
    if (trace.device_ops[device].first == trace.device_ops[device].last) continue;
    const std::vector<double> shares = bins.Shares(BusyOf(trace, device));
    for (int64_t bin = 0; bin < kBins; ++bin) {
      table.rows.push_back({"gpu" + std::to_string(trace.devices[device].ordinal), bin,
                            bins.StartOf(bin) - trace.start_ns, bins.length_ns, shares[static_cast<size_t>(bin)]});
    }
  }
  return table;
}

Table MpiGpuTimeUtilMap(const AnalysisInput& input) {
  const Trace& trace = input.trace();
  Table table;
  table.columns = {Named("PID", Unit::kCount),      Named("Rank", Unit::kCount),       Named("Bin", Unit::kCount),
                   Named("Start (ns)", Unit::kNs),  Named("Duration (ns)", Unit::kNs), Named("MPI (%)", Unit::kPercent),
                   Named("GPU (%)", Unit::kPercent)};
  const Bins bins(trace);
  for (uint32_t process = 0; process < trace.processes.size(); ++process) {
    IntervalSet mpi, gpu;
    for (const MpiCall& call : trace.mpi_calls) {
      if (call.process == process) mpi.Add(call.start_ns, call.end_ns);
    }
    if (mpi.intervals().empty()) continue;
    for (const Operation op : OperationsOf(trace)) {
      if (op.shared().process == process) gpu.Add(op.start_ns(), op.end_ns());
    }
    const std::vector<double> of_mpi = bins.Shares(mpi), of_gpu = bins.Shares(gpu);
    const Process& p = trace.processes[process];
    for (int64_t bin = 0; bin < kBins; ++bin) {
      table.rows.push_back({int64_t{p.pid}, p.rank < 0 ? Cell() : Cell(int64_t{p.rank}), bin,
                            bins.StartOf(bin) - trace.start_ns, bins.length_ns, of_mpi[static_cast<size_t>(bin)],
                            of_gpu[static_cast<size_t>(bin)]});
    }
  }
  return table;
}

Table GpuKernPace(const AnalysisInput& input) {
  const Trace& trace = input.trace();
  Table table;
  table.columns = {Named("Device", Unit::kText),      Named("Instance", Unit::kCount), Named("Start (ns)", Unit::kNs),
                   Named("Duration (ns)", Unit::kNs), Named("Pace (ns)", Unit::kNs),   Named("Name", Unit::kText)};
  const KernelGroups& groups = input.shared().kernels();
  const std::vector<Statistics>& times = input.shared().kernel_times();
  if (times.empty()) return table;
  const auto most =
      static_cast<uint32_t>(std::ranges::max_element(times, {}, [](const auto& x) { return x.total; }) - times.begin());
  for (uint32_t device = 0; device < trace.device_ops.size(); ++device) {
    int64_t number = 0, last_ns = 0;
    for (const Operation op : OperationsOf(trace, trace.device_ops[device])) {
      if (groups.of_traits()[op.kind_number()] != most) continue;
      table.rows.push_back({"gpu" + std::to_string(trace.devices[device].ordinal), number,
                            op.start_ns() - trace.start_ns, op.duration_ns(),
                            number == 0 ? Cell() : Cell(op.start_ns() - last_ns), std::string(groups.Name(most))});
      last_ns = op.start_ns();
      ++number;
    }
  }
  return table;
}

std::vector<Column> NsysColumns(const std::string& counted, Unit unit) {
  const bool is_size = unit == Unit::kBytes;
  const std::string in = is_size ? " (MB)" : " (ns)", suffix = is_size ? "_bytes" : "_ns";
  std::vector<Column> columns = {{"total" + suffix, (is_size ? "Total" : "Total Time") + in, unit},
                                 {"count", counted, Unit::kCount},
                                 {"mean" + suffix, "Avg" + in, unit, false, ColumnRole::kMean},
                                 {"median" + suffix, "Med" + in, unit, false, ColumnRole::kMedian},
                                 {"min" + suffix, "Min" + in, unit, false, ColumnRole::kLeast},
                                 {"max" + suffix, "Max" + in, unit, false, ColumnRole::kMost},
                                 {"stddev" + suffix, "StdDev" + in, unit, false, ColumnRole::kDeviation}};
  if (!is_size) columns.insert(columns.begin(), {"percent", "Time (%)", Unit::kPercent});
  return columns;
}

Table TableOfSamples(SamplesByName&& samples, const std::string& counted, Unit unit,
                     const std::vector<std::string>& text_columns, const AnalysisOptions& options) {
  Table table;
  table.columns = NsysColumns(counted, unit);
  for (const std::string& name : text_columns) table.columns.push_back({name, name, Unit::kText});
  const std::size_t name_column = table.columns.size() - 1;
  AddHistogramColumn(options, unit == Unit::kBytes ? "median_bytes" : "median_ns", &table);
  std::vector<std::pair<const std::vector<std::string>*, Statistics>> rows;
  SaturatingSum total;
  for (auto& [names, values] : samples) {
    rows.emplace_back(&names, Summarize(values, SpreadFor(options)));
    total += rows.back().second.total;
  }
  for (const auto& [names, statistics] : rows) {
    std::vector<Cell> row = TimeCells(statistics, total);
    if (unit == Unit::kBytes) row.erase(row.begin());
    row.insert(row.end(), names->begin(), names->end());
    AddHistogramCell(options, statistics, &row);
    table.rows.push_back(std::move(row));
  }
  const std::size_t total_column = unit == Unit::kBytes ? 0 : kTotalNsColumn;
  SortAndCut(&table, total_column, name_column, 0);
  return table;
}

std::string NsysRangeName(const Trace& trace, const NvtxRange& range) {
  const std::string domain = range.domain == kNone ? "" : std::string(trace.Text(trace.domains[range.domain].name));
  return domain + ":" + std::string(trace.Text(range.name));
}

}  // namespace gprof
