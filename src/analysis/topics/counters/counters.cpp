// Kernel counters by section, and what limits each kernel.
#include <cctype>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "analysis/causes/counters/counter_rules.h"
#include "analysis/facts/counters/counter_breakdown.h"
#include "analysis/facts/counters/counter_formulas.h"
#include "analysis/facts/counters/counter_groups.h"
#include "analysis/facts/counters/counter_sections.h"
#include "analysis/result/metrics.h"
#include "analysis/result/tables.h"
#include "analysis/topics/analyses.h"
#include "analysis/topics/counters/counter_tables.h"
#include "base/short_names.h"

namespace gprof {
namespace {

constexpr const char* kPassesNote =
    "Mean of the launches of a kernel with one grid and block size. % of the peak of the unit over the time of the "
    "kernel.";
constexpr const char* kPartsNote =
    " Compute and memory are lower bounds: not all of their components were measured (--set basic measures all).";
constexpr const char* kRangesNote =
    " Measured in several runs of the program, or as graphs: durations include the launch of the kernel, so that short "
    "kernels look longer and less busy than they are, and are not called latency-bound (--replay-mode kernel does not "
    "have that).";

// Rows of one kernel differ in their grids.
bool HasSameNames(std::span<const DiagnosedKernel> kernels) {
  std::set<std::string_view> names;
  for (const DiagnosedKernel& k : kernels) names.insert(k.kernel->name);
  return names.size() < kernels.size();
}

void AddGrids(std::span<const DiagnosedKernel> kernels, Table* table) {
  const Column columns[] = {{"grid_blocks", "Blocks", Unit::kCount},
                            {"block_threads", "Threads/block", Unit::kCount, true}};
  table->columns.insert(table->columns.begin() + 1, std::begin(columns), std::end(columns));
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const KernelCounters& kernel = *kernels[i].kernel;
    const Cell cells[] = {CellOf(kernel.Value("launch__grid_size"), Unit::kCount),
                          CellOf(kernel.Value("launch__block_size"), Unit::kCount)};
    table->rows[i].insert(table->rows[i].begin() + 1, std::begin(cells), std::end(cells));
  }
}

// " Caches not flushed, clocks not locked.", where it was the same for all.
std::string ConditionsNote(const Trace& trace) {
  std::string words;
  for (const CounterPlan& plan : trace.counter_plans) {
    const std::string of_plan = ConditionsOf(plan);
    if (of_plan.empty() || (!words.empty() && of_plan != words)) return {};
    words = of_plan;
  }
  if (words.empty()) return {};
  words.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(words.front())));
  return " " + words + ".";
}

// What is left to the roof that is nearest, or what the first cause costs, as its finding says.
Cell SavingOf(const DiagnosedKernel& k) {
  return k.diagnoses.empty() || k.diagnoses.front().percent <= 0 ? Cell() : Cell(k.diagnoses.front().percent);
}

Table Overview(const Trace& trace, std::span<const DiagnosedKernel> kernels) {
  Table table{"counters",
              "Kernel counters",
              {{"kernel", "Kernel", Unit::kText},
               {"launches", "Launches", Unit::kCount, true},
               {"timeline_launches", "Of all", Unit::kCount, true},
               {"timeline_ns", "Total", Unit::kNs, true},
               {"duration_ns", DurationTitle(kernels), Unit::kNs},
               {"compute_percent", "Compute", Unit::kPercent, false, ColumnRole::kOwn},
               {"memory_percent", "Memory", Unit::kPercent, false, ColumnRole::kOwn},
               {"occupancy_percent", "Occupancy", Unit::kPercent, false, ColumnRole::kCommon},
               {"verdict", "Limited by", Unit::kText},
               {"saving_percent", "Saving", Unit::kPercent, true, ColumnRole::kOwn,
                "of the time of the kernel, at most, without what limits it (estimated speed-up)"},
               {"elapsed_cycles", "Cycles", Unit::kCount, true},
               {"registers", "Registers", Unit::kCount, true},
               {"id", "ID", Unit::kCount, true, ColumnRole::kOwn, "of the first launch, as in --csv"},
               {"theoretical_occupancy_percent", "Theoretical", Unit::kPercent, true, ColumnRole::kOwn},
               {"top_stall", "Top stall", Unit::kText, true},
               {"device", "GPU", Unit::kCount, true, ColumnRole::kOwn},
               {"passes", "Passes", Unit::kCount, true}},
              {},
              kPassesNote};
  const auto of = [](const KernelCounters& kernel, std::string_view metric) {
    return CellOf(kernel.Value(metric), Unit::kPercent);
  };
  bool is_whole = true;
  for (const DiagnosedKernel& k : kernels) {
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
         CellOf(kernel.Value("gpu__time_duration.sum"), Unit::kNs), CellOf(throughputs.compute, Unit::kPercent),
         CellOf(throughputs.memory, Unit::kPercent), of(kernel, "sm__warps_active.avg.pct_of_peak_sustained_active"),
         VerdictOf(k), SavingOf(k), CellOf(kernel.Value("gpc__cycles_elapsed.max"), Unit::kCount),
         CellOf(kernel.Value("launch__registers_per_thread"), Unit::kCount), int64_t{kernel.first_range},
         k.limits ? Cell(k.limits->percent) : Cell(), stall ? Cell(std::string(stall->reason)) : Cell(),
         kernel.device == kNone ? Cell() : Cell(int64_t{trace.devices[kernel.device].ordinal}),
         kernel.passes == 0 ? Cell() : Cell(int64_t{kernel.passes})});
  }
  if (HasSameNames(kernels)) AddGrids(kernels, &table);
  table.note += ConditionsNote(trace);
  if (!is_whole) table.note += kPartsNote;
  if (DurationTitle(kernels) != "Duration") table.note += kRangesNote;
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
  if (const auto all = kernel.Value("dram__bytes.sum")) return all;
  for (const std::string_view op : {"dram__bytes_", "dram__bytes_op_"}) {
    const auto read = kernel.Value(std::string(op) + "read.sum"), written = kernel.Value(std::string(op) + "write.sum");
    if (read && written) return *read + *written;
  }
  return {};
}

// Several grids of one kernel have one figure: the mean over all its launches.
void AddMetrics(std::span<const DiagnosedKernel> kernels, AnalysisResult* result) {
  std::map<std::string_view, std::vector<const DiagnosedKernel*>> by_name;
  for (const DiagnosedKernel& k : kernels) by_name[k.kernel->name].push_back(&k);
  for (const auto& [name, of_name] : by_name) {
    const std::string scope = "kernel:" + std::string(name);
    const auto add_mean = [&](std::string_view id, auto&& value_of) {
      double sum = 0, launches = 0;
      for (const DiagnosedKernel* k : of_name) {
        const std::optional<double> value = value_of(*k);
        if (value) sum += *value * k->kernel->launches, launches += k->kernel->launches;
      }
      if (launches > 0) AddMetric(result, id, sum / launches, scope);
    };
    for (const KernelMetric& m : kKernelMetrics)
      add_mean(m.id, [&](const DiagnosedKernel& k) { return k.kernel->Value(m.metric); });
    add_mean("kernel.dram_bytes", [](const DiagnosedKernel& k) { return DramBytesOf(*k.kernel); });
    add_mean("kernel.theoretical_occupancy_percent", [](const DiagnosedKernel& k) {
      return k.limits ? std::optional<double>(k.limits->percent) : std::nullopt;
    });
  }
}

void AddFindings(std::span<const DiagnosedKernel> kernels, AnalysisResult* result) {
  for (const DiagnosedKernel& k : kernels) {
    for (Finding& finding : FindingsOf(k)) {
      finding.message = BriefName(k.kernel->name) + ": " + finding.message;
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
  const std::vector<DiagnosedKernel> diagnosed = DiagnosedKernels(trace, kernels);
  AddMetrics(diagnosed, &result);
  AddFindings(diagnosed, &result);
  result.tables.push_back(Overview(trace, diagnosed));
  CutRows(&result.tables.back(), options.max_rows);
  const std::size_t rows = RowsShown(kernels.size(), options.max_rows);
  const std::span<const KernelCounters> shown = std::span(kernels).first(rows);
  for (const CounterSection& section : CounterSections()) {
    if (!section.columns.empty()) AddTable(SectionTable(section, diagnosed, rows), &result);
    for (Table& table : LongTablesOf(section.id, trace, shown)) AddTable(std::move(table), &result);
  }
  return result;
}

}  // namespace gprof
