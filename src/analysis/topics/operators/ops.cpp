// Operators of frameworks: by operator, and by operator and sizes of its inputs.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/facts/operations/operations.h"
#include "analysis/facts/operators/operators.h"
#include "analysis/facts/shared_facts.h"
#include "analysis/facts/steps/step_windows.h"
#include "analysis/result/metrics.h"
#include "analysis/result/statistics.h"
#include "analysis/result/tables.h"
#include "analysis/topics/analyses.h"
#include "analysis/topics/operators/step_flops.h"
#include "base/text.h"
#include "base/units.h"

namespace gprof {
namespace {

Table UtilisationTable(const StepFlops& counted, const StepWindows& steps) {
  Table table{"ops_mfu",
              "Model FLOPs utilisation",
              {{"mfu_percent", "MFU", Unit::kPercent, false, ColumnRole::kOwn,
                "time the floating-point operations of a step would take at the dense peak of their types and the "
                "maximum clock, in percent of the step time; recomputed operations count each time"},
               {"flops", "FLOP/step", Unit::kCount, false},
               {"tflops", "TFLOP/s", Unit::kText, false, ColumnRole::kOwn},
               {"mean_ns", "Step", Unit::kNs, false, ColumnRole::kMean},
               {"counted_percent", "GPU counted", Unit::kPercent, false, ColumnRole::kOwn,
                "GPU time of operators with a formula"},
               {"steps", "Steps", Unit::kCount, false},
               {"devices", "GPUs", Unit::kCount, true}},
              {},
              ""};
  if (counted.flops == 0 || steps.count() == 0) return table;
  const double percent = counted.UtilisationPercent(steps);
  if (percent == 0) AddToNote(&table, "The peak of one type is not known.");
  table.rows.push_back({percent == 0 ? Cell() : Cell(percent), counted.flops / steps.count(),
                        TeraflopsText(counted.flops, steps.total_ns()),
                        static_cast<double>(steps.total_ns()) / static_cast<double>(steps.count()),
                        PercentOf(counted.counted_ns, counted.gpu_ns), steps.count(), counted.devices});
  return table;
}

Table UncountedTable(const StepFlops& counted, const StepWindows& steps, uint32_t max_rows) {
  Table table{"ops_without_flops",
              "Operators without FLOPs",
              {{"gpu_percent", "GPU (%)", Unit::kPercent, false},
               {"gpu_ns", "GPU time", Unit::kNs, false},
               {"kernels", "GPU ops", Unit::kCount, false},
               {"operator", "Operator", Unit::kText, false}},
              {},
              std::string("Operators without a formula or without known sizes. Percent of the GPU time of ") +
                  (steps.count() > 0 ? "the steps." : "all operations with a known call."),
              RowsOfRanks::kAddUp};
  table.is_detail = true;
  if (counted.flops == 0) return table;
  const std::size_t shown = RowsShown(counted.uncounted.size(), max_rows);
  for (std::size_t i = 0; i < shown; ++i) {
    const UncountedOperator& sum = counted.uncounted[i];
    table.rows.push_back({PercentOf(sum.gpu_ns, counted.gpu_ns), sum.gpu_ns, sum.kernels,
                          sum.name.empty() ? std::string("(no operator)") : Utf8(sum.name)});
  }
  CountLeftOut(&table, counted.uncounted.size());
  return table;
}

void AddUtilisation(const AnalysisInput& input, const Operators& operators, const AnalysisOptions& options,
                    AnalysisResult* result) {
  const StepWindows steps =
      operators.empty() ? StepWindows() : StepWindows(input.trace(), FindStep(input, options.step));
  const StepFlops counted(input, operators, steps);
  if (const double percent = counted.UtilisationPercent(steps); percent > 0) {
    AddMetric(result, "ops.mfu_percent", percent);
  }
  result->tables.push_back(UtilisationTable(counted, steps));
  result->tables.push_back(UncountedTable(counted, steps, options.max_rows));
}

constexpr std::string_view kNote = "Self: excluding nested operators. GPU: time of the work the operator launched.";

// Sizes have room where some of the times give way.
std::vector<Column> ColumnsOf(bool with_sizes) {
  std::vector<Column> columns = {
      {"gpu_percent", "GPU (%)", Unit::kPercent, true},
      {"gpu_self_ns", "GPU self", Unit::kNs, false},
      {"gpu_ns", "GPU total", Unit::kNs, with_sizes},
      {"cpu_self_ns", "CPU self", Unit::kNs, with_sizes},
      {"cpu_ns", "CPU total", Unit::kNs, false},
      {"calls", "Calls", Unit::kCount, false},
      {"gpu_mean_ns", "GPU mean", Unit::kNs, true, ColumnRole::kMean, "", "gpu_ns"},
      {"cpu_mean_ns", "CPU mean", Unit::kNs, true, ColumnRole::kMean, "", "cpu_ns"},
      {"kernels", "GPU ops", Unit::kCount, true},
      {"flops", "FLOP", Unit::kCount, true},
      {"tflops", "TFLOP/s", Unit::kText, true, ColumnRole::kOwn,
       "floating-point operations divided by GPU total, for operators with known input sizes"},
      {"peak_percent", "% of peak", Unit::kPercent, true, ColumnRole::kRate,
       "of the dense peak of the type at the maximum clock"},
      {"type", "Type", Unit::kText, true},
      {"gpu_memory_self_bytes", "GPU mem self", Unit::kBytes, true},
      {"gpu_memory_bytes", "GPU memory", Unit::kBytes, true},
      {"cpu_memory_self_bytes", "CPU mem self", Unit::kBytes, true},
      {"cpu_memory_bytes", "CPU memory", Unit::kBytes, true},
      {"operator", "Operator", Unit::kText, false}};
  if (with_sizes) columns.push_back({"sizes", "Sizes", Unit::kText, false});
  return columns;
}

double MeanOf(int64_t ns, const OperatorSum& sum) {
  return static_cast<double>(ns) / static_cast<double>(std::max<int64_t>(sum.calls, 1));
}

// A row of a table. Calls with inputs of another type have a peak of their own, and those without known sizes none.
struct OperatorRow {
  OperatorSum sum;
  double least_ns = 0;     // that the operations of known size take at the peaks of their types
  int64_t counted_ns = 0;  // GPU time of those
  bool has_peaks = true;
  std::set<std::string> types;  // of those

  void Add(const Trace& trace, const OperatorSum& more);
  Cell PeakPercent() const {
    const bool is_known = has_peaks && least_ns > 0 && counted_ns > 0;
    return is_known ? Cell(100 * least_ns / static_cast<double>(counted_ns)) : Cell();
  }
  Cell Types() const {
    return types.empty() ? Cell() : Cell(Joined(std::vector<std::string>(types.begin(), types.end())));
  }
};

// What tells one table of operators from another.
struct TableKind {
  bool with_sizes = false, has_memory = false;
};

Table TableOf(const std::vector<OperatorRow>& rows, TableKind kind, uint32_t max_rows) {
  const bool with_sizes = kind.with_sizes;
  const std::string_view id = with_sizes ? "ops_by_shape" : "ops";
  const std::string_view title = with_sizes ? "Operators by input sizes" : "Operators";
  Table table{std::string(id), std::string(title), ColumnsOf(with_sizes), {}, std::string(kNote), RowsOfRanks::kAddUp};
  int64_t gpu_ns = 0;
  for (const OperatorRow& row : rows) gpu_ns += row.sum.gpu_self_ns;
  const auto memory = [&](int64_t size_bytes) { return kind.has_memory ? Cell(size_bytes) : Cell(); };
  const std::size_t shown = RowsShown(rows.size(), max_rows);
  for (std::size_t i = 0; i < shown; ++i) {
    const OperatorSum& sum = rows[i].sum;
    const auto host = [&](auto value) { return sum.calls == 0 ? Cell() : Cell(value); };
    const std::string tera = TeraflopsText(sum.flops, rows[i].counted_ns);
    table.rows.push_back({PercentOf(sum.gpu_self_ns, gpu_ns), sum.gpu_self_ns, sum.gpu_ns, host(sum.cpu_self_ns),
                          host(sum.cpu_ns), host(sum.calls), host(MeanOf(sum.gpu_ns, sum)),
                          host(MeanOf(sum.cpu_ns, sum)), sum.kernels, sum.flops == 0 ? Cell() : Cell(sum.flops),
                          tera.empty() ? Cell() : Cell(tera), rows[i].PeakPercent(), rows[i].Types(),
                          memory(sum.gpu_memory_self_bytes), memory(sum.gpu_memory_bytes),
                          memory(sum.cpu_memory_self_bytes), memory(sum.cpu_memory_bytes), Utf8(sum.name)});
    if (with_sizes) table.rows.back().emplace_back(Utf8(sum.sizes));
  }
  if (std::ranges::any_of(rows, [](const OperatorRow& row) { return row.sum.calls == 0; })) {
    table.note += " Rows without calls: GPU work that no operator launched, that of torch.compile by kernel.";
  }
  CountLeftOut(&table, rows.size());
  return table;
}

// What no operator launched: kernels of torch.compile, whose names say what they fuse, and the rest in one row. They
// have no calls and no time on the host.
std::vector<OperatorRow> Outside(const AnalysisInput& input, const Operators& operators) {
  const Trace& trace = input.trace();
  std::map<std::string_view, OperatorSum> by_name;
  for (const Operation op : OperationsOf(trace)) {
    const uint32_t call = input.shared().ops().CallOf(op);
    if (call != kNone && operators.OperatorAround(trace, Call(trace.api_calls, call).range()) != kNone) continue;
    const std::string_view kernel = trace.Text(op.shared().name);
    OperatorSum& sum = by_name[op.is_kernel() && kernel.starts_with("triton_") ? kernel : "(no operator)"];
    sum.gpu_ns += op.duration_ns(), sum.gpu_self_ns += op.duration_ns(), ++sum.kernels;
  }
  std::vector<OperatorRow> all;
  for (auto& [name, sum] : by_name) {
    sum.name = name;
    all.emplace_back().sum = std::move(sum);
  }
  return all;
}

void AddTo(const OperatorSum& sum, OperatorSum* all) {
  all->name = sum.name, all->sizes = sum.sizes;
  all->calls += sum.calls, all->kernels += sum.kernels, all->flops += sum.flops;
  all->cpu_ns += sum.cpu_ns, all->cpu_self_ns += sum.cpu_self_ns;
  all->gpu_ns += sum.gpu_ns, all->gpu_self_ns += sum.gpu_self_ns;
  all->cpu_memory_bytes += sum.cpu_memory_bytes, all->cpu_memory_self_bytes += sum.cpu_memory_self_bytes;
  all->gpu_memory_bytes += sum.gpu_memory_bytes, all->gpu_memory_self_bytes += sum.gpu_memory_self_bytes;
}

void OperatorRow::Add(const Trace& trace, const OperatorSum& more) {
  AddTo(more, &sum);
  if (more.flops == 0) return;
  const double ns = more.LeastNs(trace, more.flops);
  least_ns += ns;
  has_peaks &= ns > 0;
  counted_ns += more.gpu_ns;
  if (more.math() != MathType::kOther) types.insert(std::string(NameOf(more.math())));
}

// By name, or by name, sizes and type, added to rows that there are already.
std::vector<OperatorRow> Folded(const Trace& trace, const std::vector<OperatorSum>& sums, bool with_sizes,
                                std::vector<OperatorRow> rows) {
  std::map<std::tuple<std::string_view, std::string_view, MathType>, OperatorRow> folded;
  for (const OperatorSum& sum : sums) {
    if (sum.calls == 0) continue;  // it is a part of others
    const auto key = with_sizes ? std::tuple(std::string_view(sum.name), std::string_view(sum.sizes), sum.math())
                                : std::tuple(std::string_view(sum.name), std::string_view(), MathType::kOther);
    OperatorRow& row = folded[key];
    row.Add(trace, sum);
    if (with_sizes && sum.math() != MathType::kOther) row.types.insert(std::string(NameOf(sum.math())));
  }
  for (auto& [key, row] : folded) rows.push_back(std::move(row));
  std::ranges::stable_sort(rows, [](const OperatorRow& a, const OperatorRow& b) {
    return std::pair(b.sum.gpu_self_ns, b.sum.cpu_self_ns) < std::pair(a.sum.gpu_self_ns, a.sum.cpu_self_ns);
  });
  return rows;
}

// Of all operators, and of each by its name.
void AddMetrics(const std::vector<OperatorRow>& rows, AnalysisResult* result) {
  constexpr std::size_t kMostWithMetrics = 1000;  // programs that number their operators would drown everything else
  OperatorSum all;
  std::size_t count = 0;
  for (const OperatorRow& row : rows) {
    const OperatorSum& sum = row.sum;
    if (sum.calls == 0) continue;
    AddTo(sum, &all);
    if (++count > kMostWithMetrics) continue;
    const std::string scope = "op:" + Utf8(sum.name);
    AddMetric(result, "ops.calls", sum.calls, scope);
    AddMetric(result, "ops.cpu_ns", sum.cpu_ns, scope);
    AddMetric(result, "ops.cpu_self_ns", sum.cpu_self_ns, scope);
    AddMetric(result, "ops.gpu_ns", sum.gpu_ns, scope);
    AddMetric(result, "ops.gpu_self_ns", sum.gpu_self_ns, scope);
  }
  if (all.calls == 0) return;
  AddMetric(result, "ops.calls", all.calls);
  AddMetric(result, "ops.cpu_self_ns", all.cpu_self_ns);
  AddMetric(result, "ops.gpu_self_ns", all.gpu_self_ns);
}

}  // namespace

AnalysisResult RunOps(const AnalysisInput& input, const AnalysisOptions& options) {
  AnalysisResult result;
  const Operators operators(input);
  const std::vector<OperatorSum>& sums = operators.sums;
  const Trace& trace = input.trace();
  std::vector<OperatorRow> outside = sums.empty() ? std::vector<OperatorRow>() : Outside(input, operators);
  const std::vector<OperatorRow> rows = Folded(trace, sums, false, std::move(outside));
  AddMetrics(rows, &result);
  result.tables.push_back(TableOf(rows, {false, operators.has_memory}, options.max_rows));
  const bool has_sizes = std::ranges::any_of(sums, [](const OperatorSum& sum) { return !sum.sizes.empty(); });
  result.tables.push_back(TableOf(has_sizes ? Folded(trace, sums, true, {}) : std::vector<OperatorRow>(),
                                  {true, operators.has_memory}, options.max_rows));
  result.tables.back().is_detail = true;
  AddUtilisation(input, operators, options, &result);
  return result;
}

}  // namespace gprof
