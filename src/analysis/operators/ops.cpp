// Operators of frameworks: by operator, and by operator and sizes of its inputs.
#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "analysis/facts/operations.h"
#include "analysis/facts/shared_facts.h"
#include "analysis/facts/statistics.h"
#include "analysis/operators/operators.h"
#include "analysis/operators/ops_utilisation.h"
#include "analysis/result/analyses.h"
#include "analysis/result/tables.h"
#include "base/text.h"

namespace gprof {
namespace {

constexpr std::string_view kNote =
    "Self: excluding nested operators. GPU: time of the work the operator launched. TFLOP/s: floating-point "
    "operations divided by GPU total, for operators with known input sizes. % of peak: of the dense peak of the type "
    "at the maximum clock.";

// Sizes have room where some of the times give way.
std::vector<Column> ColumnsOf(bool with_sizes) {
  std::vector<Column> columns = {{"gpu_percent", "GPU (%)", Unit::kPercent, true},
                                 {"gpu_self_ns", "GPU self", Unit::kNs, false},
                                 {"gpu_ns", "GPU total", Unit::kNs, with_sizes},
                                 {"cpu_self_ns", "CPU self", Unit::kNs, with_sizes},
                                 {"cpu_ns", "CPU total", Unit::kNs, false},
                                 {"calls", "Calls", Unit::kCount, false},
                                 {"gpu_mean_ns", "GPU mean", Unit::kNs, true},
                                 {"cpu_mean_ns", "CPU mean", Unit::kNs, true},
                                 {"kernels", "GPU ops", Unit::kCount, true},
                                 {"flops", "FLOP", Unit::kCount, true},
                                 {"tflops", "TFLOP/s", Unit::kText, true},
                                 {"peak_percent", "% of peak", Unit::kPercent, true},
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

Cell TypeOf(const OperatorSum& sum) {
  return sum.math() == MathType::kOther ? Cell() : Cell(std::string(NameOf(sum.math())));
}

// What tells one table of operators from another.
struct TableKind {
  bool with_sizes = false, has_memory = false;
};

Table TableOf(const Trace& trace, const std::vector<OperatorSum>& sums, TableKind kind, uint32_t max_rows) {
  const bool with_sizes = kind.with_sizes;
  const std::string_view id = with_sizes ? "ops_by_shape" : "ops";
  const std::string_view title = with_sizes ? "Operators by input sizes" : "Operators";
  Table table{std::string(id), std::string(title), ColumnsOf(with_sizes), {}, std::string(kNote)};
  int64_t gpu_ns = 0;
  for (const OperatorSum& sum : sums) gpu_ns += sum.gpu_self_ns;
  const auto memory = [&](int64_t size_bytes) { return kind.has_memory ? Cell(size_bytes) : Cell(); };
  const std::size_t shown = RowsShown(sums.size(), max_rows);
  for (std::size_t i = 0; i < shown; ++i) {
    const OperatorSum& sum = sums[i];
    const auto host = [&](auto value) { return sum.calls == 0 ? Cell() : Cell(value); };
    const std::string tera = TeraflopsText(sum.flops, sum.gpu_ns);
    const double percent = sum.PeakPercent(trace);
    table.rows.push_back({PercentOf(sum.gpu_self_ns, gpu_ns), sum.gpu_self_ns, sum.gpu_ns, host(sum.cpu_self_ns),
                          host(sum.cpu_ns), host(sum.calls), host(MeanOf(sum.gpu_ns, sum)),
                          host(MeanOf(sum.cpu_ns, sum)), sum.kernels, sum.flops == 0 ? Cell() : Cell(sum.flops),
                          tera.empty() ? Cell() : Cell(tera), percent > 0 ? Cell(percent) : Cell(), TypeOf(sum),
                          memory(sum.gpu_memory_self_bytes), memory(sum.gpu_memory_bytes),
                          memory(sum.cpu_memory_self_bytes), memory(sum.cpu_memory_bytes), Utf8(sum.name)});
    if (with_sizes) table.rows.back().emplace_back(Utf8(sum.sizes));
  }
  if (std::any_of(sums.begin(), sums.end(), [](const OperatorSum& sum) { return sum.calls == 0; })) {
    table.note += " Rows without calls: GPU work that no operator launched, that of torch.compile by kernel.";
  }
  NoteLeftOut(&table, sums.size());
  return table;
}

// What no operator launched: kernels of torch.compile, whose names say what they fuse, and the rest in one row. They
// have no calls and no time on the host.
std::vector<OperatorSum> Outside(const AnalysisInput& input, const Operators& operators) {
  const Trace& trace = input.trace();
  std::map<std::string_view, OperatorSum> by_name;
  for (const Operation op : OperationsOf(trace)) {
    const uint32_t call = input.shared().ops().CallOf(op);
    if (call != kNone && operators.OperatorAround(trace, Call(trace.api_calls, call).range()) != kNone) continue;
    const std::string_view kernel = trace.Text(op.shared().name);
    OperatorSum& sum = by_name[op.is_kernel() && kernel.starts_with("triton_") ? kernel : "(no operator)"];
    sum.gpu_ns += op.duration_ns(), sum.gpu_self_ns += op.duration_ns(), ++sum.kernels;
  }
  std::vector<OperatorSum> all;
  for (auto& [name, sum] : by_name) {
    sum.name = name;
    all.push_back(std::move(sum));
  }
  return all;
}

void Add(const OperatorSum& sum, OperatorSum* all) {
  all->name = sum.name, all->sizes = sum.sizes, all->has_tf32 = sum.has_tf32;
  if (sum.flops != 0 || all->types.empty()) all->types = sum.types;
  if (sum.device != kNone) all->device = sum.device;
  all->calls += sum.calls, all->kernels += sum.kernels, all->flops += sum.flops;
  all->cpu_ns += sum.cpu_ns, all->cpu_self_ns += sum.cpu_self_ns;
  all->gpu_ns += sum.gpu_ns, all->gpu_self_ns += sum.gpu_self_ns;
  all->cpu_memory_bytes += sum.cpu_memory_bytes, all->cpu_memory_self_bytes += sum.cpu_memory_self_bytes;
  all->gpu_memory_bytes += sum.gpu_memory_bytes, all->gpu_memory_self_bytes += sum.gpu_memory_self_bytes;
}

// By name and sizes, or by name alone, added to rows that there are already. Calls with inputs of another type have a
// peak of their own.
std::vector<OperatorSum> Folded(const std::vector<OperatorSum>& sums, bool with_sizes, std::vector<OperatorSum> rows) {
  std::map<std::tuple<std::string_view, std::string_view, MathType>, OperatorSum> folded;
  for (const OperatorSum& sum : sums) {
    const MathType type = sum.flops == 0 && !with_sizes ? MathType::kOther : sum.math();
    OperatorSum& all = folded[{sum.name, with_sizes ? std::string_view(sum.sizes) : std::string_view(), type}];
    if (sum.calls > 0) Add(sum, &all);  // else it is a part of others
  }
  for (auto& [key, sum] : folded) {
    if (!with_sizes && sum.flops == 0) sum.types.clear();
    if (sum.calls > 0) rows.push_back(std::move(sum));
  }
  std::stable_sort(rows.begin(), rows.end(), [](const OperatorSum& a, const OperatorSum& b) {
    return std::pair(b.gpu_self_ns, b.cpu_self_ns) < std::pair(a.gpu_self_ns, a.cpu_self_ns);
  });
  return rows;
}

}  // namespace

AnalysisResult RunOps(const AnalysisInput& input, const AnalysisOptions& options) {
  AnalysisResult result;
  const Operators operators(input);
  const std::vector<OperatorSum>& sums = operators.sums;
  std::vector<OperatorSum> outside = sums.empty() ? std::vector<OperatorSum>() : Outside(input, operators);
  result.tables.push_back(
      TableOf(input.trace(), Folded(sums, false, std::move(outside)), {false, operators.has_memory}, options.max_rows));
  const bool has_sizes =
      std::any_of(sums.begin(), sums.end(), [](const OperatorSum& sum) { return !sum.sizes.empty(); });
  result.tables.push_back(TableOf(input.trace(), has_sizes ? Folded(sums, true, {}) : std::vector<OperatorSum>(),
                                  {true, operators.has_memory}, options.max_rows));
  result.tables.back().is_detail = true;
  AddUtilisation(input, operators, options, &result);
  return result;
}

}  // namespace gprof
