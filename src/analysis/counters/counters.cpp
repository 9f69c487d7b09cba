// Kernel counters by section, and what limits each kernel.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/counters/counter_breakdown.h"
#include "analysis/counters/counter_formulas.h"
#include "analysis/counters/counter_groups.h"
#include "analysis/counters/counter_occupancy.h"
#include "analysis/counters/counter_rules.h"
#include "analysis/counters/counter_sections.h"
#include "analysis/counters/counter_tables.h"
#include "analysis/findings/finding_catalogue.h"
#include "analysis/result/analyses.h"
#include "analysis/result/metrics.h"
#include "analysis/result/tables.h"
#include "base/units.h"

namespace gprof {
namespace {

constexpr std::string_view kLaunchSection = "counter_launch", kOccupancySection = "counter_occupancy";
constexpr const char* kPassesNote =
    "Mean of the launches of a kernel with one grid and block size. % of the peak of the unit over the time of the "
    "kernel.";
constexpr const char* kPartsNote =
    " Compute and memory are lower bounds: not all of their components were measured (--set basic measures all).";
// The range profiler has to be told where a kernel begins and ends then.
constexpr const char* kRangesNote =
    " Measured in several runs of the program: durations include the launch of the kernel, so that short kernels look "
    "longer and less busy than they are (--replay-mode kernel does not have that).";

bool IncludesLaunches(const Trace& trace) {
  return std::any_of(trace.counter_plans.begin(), trace.counter_plans.end(), [](const CounterPlan& plan) {
    return plan.replay == trace::ReplayMode::kApplication && plan.passes > 1;
  });
}

struct Diagnosed {
  const KernelCounters* kernel;
  std::optional<OccupancyLimits> limits;
  std::vector<Diagnosis> diagnoses;
};

bool HasValue(const std::vector<KernelCounters>& kernels, const CounterColumn& column) {
  return std::any_of(kernels.begin(), kernels.end(),
                     [&](const KernelCounters& kernel) { return ValueOf(column, kernel).has_value(); });
}

// What the launch and the GPU allow, beside what was counted.
void AddLimits(const std::vector<Diagnosed>& kernels, Table* table) {
  using Field = double OccupancyLimits::*;
  const std::pair<Column, Field> kLimits[] = {
      {{"theoretical_percent", "Theoretical", Unit::kPercent}, &OccupancyLimits::percent},
      {{"theoretical_warps", "Warps/SM possible", Unit::kCount, true}, &OccupancyLimits::warps_per_sm},
      {{"limit_registers", "By registers", Unit::kCount}, &OccupancyLimits::registers},
      {{"limit_shared_memory", "By shared memory", Unit::kCount}, &OccupancyLimits::shared_memory},
      {{"limit_warps", "By block size", Unit::kCount}, &OccupancyLimits::warps},
      {{"limit_blocks", "By blocks", Unit::kCount, true}, &OccupancyLimits::blocks}};
  for (const auto& [column, field] : kLimits) table->columns.push_back(column);
  table->columns.push_back({"limiter", "Limiter", Unit::kText});
  for (std::size_t i = 0; i < table->rows.size(); ++i) {
    const std::optional<OccupancyLimits>& limits = kernels[i].limits;
    for (const auto& [column, field] : kLimits) {
      table->rows[i].push_back(limits ? CellOf((*limits).*field, column.unit) : Cell());
    }
    table->rows[i].push_back(limits ? Cell(limits->limiter) : Cell());
  }
  table->note = "Limits are blocks per SM.";
}

Table SectionTable(const CounterSection& section, const std::vector<KernelCounters>& kernels,
                   const std::vector<Diagnosed>& diagnosed, std::size_t rows) {
  Table table{std::string(section.id), std::string(section.title), {{"kernel", "Kernel", Unit::kText}}, {}, {}};
  std::vector<const CounterColumn*> columns;
  for (const CounterColumn& column : section.columns) {
    if (!HasValue(kernels, column)) continue;
    columns.push_back(&column);
    table.columns.push_back({std::string(column.key), std::string(column.title), column.unit, column.is_extra});
  }
  if (columns.empty()) return table;
  for (std::size_t i = 0; i < rows; ++i) {
    std::vector<Cell> row{kernels[i].name};
    for (const CounterColumn* column : columns) row.push_back(CellOf(ValueOf(*column, kernels[i]), column->unit));
    table.rows.push_back(std::move(row));
  }
  if (section.id == kOccupancySection) AddLimits(diagnosed, &table);
  return table;
}

// "kernel.memory_bound": "memory bound".
std::string VerdictOf(const std::vector<Diagnosis>& diagnoses) {
  if (diagnoses.empty()) return "";
  std::string words(diagnoses.front().finding.substr(diagnoses.front().finding.find('.') + 1));
  std::replace(words.begin(), words.end(), '_', ' ');
  return words;
}

Table Overview(const Trace& trace, const std::vector<Diagnosed>& kernels) {
  Table table{"counters",
              "Kernel counters",
              {{"kernel", "Kernel", Unit::kText},
               {"launches", "Launches", Unit::kCount, true},
               {"timeline_launches", "Of all", Unit::kCount, true},
               {"timeline_ns", "Total", Unit::kNs, true},
               {"duration_ns", "Duration", Unit::kNs},
               {"compute_percent", "Compute", Unit::kPercent},
               {"memory_percent", "Memory", Unit::kPercent},
               {"occupancy_percent", "Occupancy", Unit::kPercent},
               {"theoretical_occupancy_percent", "Theoretical", Unit::kPercent, true},
               {"top_stall", "Top stall", Unit::kText, true},
               {"verdict", "Limited by", Unit::kText},
               {"device", "GPU", Unit::kCount, true},
               {"passes", "Passes", Unit::kCount, true}},
              {},
              kPassesNote};
  const auto of = [](const KernelCounters& kernel, std::string_view metric) {
    return CellOf(kernel.Of(metric), Unit::kPercent);
  };
  bool is_whole = true;
  for (const Diagnosed& k : kernels) {
    const KernelCounters& kernel = *k.kernel;
    const std::optional<Stall> stall = TopStall(kernel);
    const Throughputs throughputs = ThroughputsOf(kernel);
    const bool has_parts = throughputs.compute || throughputs.memory;
    is_whole &= throughputs.is_whole || !has_parts;
    const bool has_timeline = kernel.timeline_launches > 0;
    table.rows.push_back(
        {kernel.name, int64_t{kernel.launches},
         has_timeline ? Cell(static_cast<int64_t>(kernel.timeline_launches)) : Cell(),
         has_timeline ? Cell(std::llround(kernel.timeline_ns)) : Cell(),
         CellOf(kernel.Of("gpu__time_duration.sum"), Unit::kNs), CellOf(throughputs.compute, Unit::kPercent),
         CellOf(throughputs.memory, Unit::kPercent), of(kernel, "sm__warps_active.avg.pct_of_peak_sustained_active"),
         k.limits ? Cell(k.limits->percent) : Cell(), stall ? Cell(std::string(stall->reason)) : Cell(),
         VerdictOf(k.diagnoses), kernel.device == kNone ? Cell() : Cell(int64_t{trace.devices[kernel.device].ordinal}),
         kernel.passes == 0 ? Cell() : Cell(int64_t{kernel.passes})});
  }
  if (!is_whole) table.note += kPartsNote;
  if (IncludesLaunches(trace)) table.note += kRangesNote;
  return table;
}

struct KernelMetric {
  std::string_view id, metric;
};
constexpr KernelMetric kKernelMetrics[] = {
    {"kernel.duration_ns", "gpu__time_duration.sum"},
    {"kernel.compute_percent", "sm__throughput.avg.pct_of_peak_sustained_elapsed"},
    {"kernel.memory_percent", "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"},
    {"kernel.dram_percent", "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"},
    {"kernel.occupancy_percent", "sm__warps_active.avg.pct_of_peak_sustained_active"},
    {"kernel.ipc", "sm__inst_executed.avg.per_cycle_active"},
    {"kernel.l2_hit_percent", "lts__t_sector_hit_rate.pct"},
    {"kernel.instructions", "smsp__inst_executed.sum"},
    {"kernel.branches", "smsp__inst_executed_op_branch.sum"},
    {"kernel.global_load_requests", "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"},
    {"kernel.global_load_sectors", "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"},
    {"kernel.global_store_requests", "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"},
    {"kernel.global_store_sectors", "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"},
    {"kernel.local_loads", "smsp__sass_inst_executed_op_local_ld.sum"},
    {"kernel.local_stores", "smsp__sass_inst_executed_op_local_st.sum"},
    {"kernel.registers", "launch__registers_per_thread"}};

// Chips and sets have the sum, or its parts.
std::optional<double> DramBytesOf(const KernelCounters& kernel) {
  if (const auto all = kernel.Of("dram__bytes.sum")) return all;
  for (const std::string_view op : {"dram__bytes_", "dram__bytes_op_"}) {
    const auto read = kernel.Of(std::string(op) + "read.sum"), written = kernel.Of(std::string(op) + "write.sum");
    if (read && written) return *read + *written;
  }
  return {};
}

// Several grids of one kernel have one figure: the mean over all its launches.
void AddMetrics(const std::vector<Diagnosed>& kernels, AnalysisResult* result) {
  std::map<std::string_view, std::vector<const Diagnosed*>> by_name;
  for (const Diagnosed& k : kernels) by_name[k.kernel->name].push_back(&k);
  for (const auto& [name, of_name] : by_name) {
    const std::string scope = "kernel:" + std::string(name);
    const auto add_mean = [&](std::string_view id, auto&& value_of) {
      double sum = 0, launches = 0;
      for (const Diagnosed* k : of_name) {
        const std::optional<double> value = value_of(*k);
        if (value) sum += *value * k->kernel->launches, launches += k->kernel->launches;
      }
      if (launches > 0) AddMetric(result, id, sum / launches, scope);
    };
    for (const KernelMetric& m : kKernelMetrics)
      add_mean(m.id, [&](const Diagnosed& k) { return k.kernel->Of(m.metric); });
    add_mean("kernel.dram_bytes", [](const Diagnosed& k) { return DramBytesOf(*k.kernel); });
    add_mean("kernel.theoretical_occupancy_percent",
             [](const Diagnosed& k) { return k.limits ? std::optional<double>(k.limits->percent) : std::nullopt; });
  }
}

void AddFindings(const std::vector<Diagnosed>& kernels, AnalysisResult* result) {
  for (const Diagnosed& k : kernels) {
    for (const Diagnosis& diagnosis : k.diagnoses) {
      Finding finding = NewFinding(diagnosis.finding, diagnosis.percent);
      finding.message = k.kernel->name + ": " + diagnosis.message;
      finding.subject.kernel = k.kernel->name;
      // What only says where the time goes is no reason to put off its cause.
      const bool is_first = &diagnosis == &k.diagnoses.front();
      if (diagnosis.is_cause || is_first) finding.gain_ns = std::llround(diagnosis.percent / 100 * k.kernel->TotalNs());
      finding.basis =
          fmt::format("{} of {} {}, an upper bound", FormatPercent(diagnosis.percent), FormatNs(k.kernel->TotalNs()),
                      k.kernel->timeline_launches > 0 ? "in all launches" : "with counters");
      result->findings.push_back(std::move(finding));
    }
  }
}

void AddTable(Table table, AnalysisResult* result) {
  if (!table.rows.empty()) result->tables.push_back(std::move(table));
}

}  // namespace

AnalysisResult RunCounters(const AnalysisInput& input, const AnalysisOptions& options) {
  AnalysisResult result;
  const Trace& trace = input.trace();
  const std::vector<KernelCounters> kernels = KernelCountersOf(trace);
  if (kernels.empty()) return result;
  std::vector<Diagnosed> diagnosed;
  for (const KernelCounters& kernel : kernels) {
    const trace::DeviceRecord* const facts = DeviceFactsOf(trace, kernel);
    diagnosed.push_back({&kernel, LimitsOf(kernel, facts), DiagnosesOf(kernel, facts)});
  }
  AddMetrics(diagnosed, &result);
  AddFindings(diagnosed, &result);
  result.tables.push_back(Overview(trace, diagnosed));
  CutRows(&result.tables.back(), options.max_rows);
  const std::size_t rows = RowsShown(kernels.size(), options.max_rows);
  const std::span<const KernelCounters> shown = std::span(kernels).first(rows);
  for (const CounterSection& section : CounterSections()) {
    if (!section.columns.empty()) AddTable(SectionTable(section, kernels, diagnosed, rows), &result);
    for (Table& table : LongTablesOf(section.id, trace, shown)) AddTable(std::move(table), &result);
  }
  return result;
}

}  // namespace gprof
