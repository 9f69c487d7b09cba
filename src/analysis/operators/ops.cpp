// Operators of frameworks: by operator, and by operator and sizes of its inputs.
#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

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
    "operations divided by GPU total, for operators with known input sizes. Peak: dense peak of the type at the "
    "maximum clock.";

std::vector<Column> ColumnsOf(bool with_sizes) {
  std::vector<Column> columns = {{"gpu_percent", "GPU (%)", Unit::kPercent, true},
                                 {"gpu_self_ns", "GPU self", Unit::kNs, false},
                                 {"gpu_ns", "GPU total", Unit::kNs, false},
                                 {"cpu_self_ns", "CPU self", Unit::kNs, false},
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
    const std::string tera = TeraflopsText(sum.flops, sum.gpu_ns);
    const double percent = sum.PeakPercent(trace);
    table.rows.push_back({PercentOf(sum.gpu_self_ns, gpu_ns), sum.gpu_self_ns, sum.gpu_ns, sum.cpu_self_ns, sum.cpu_ns,
                          sum.calls, MeanOf(sum.gpu_ns, sum), MeanOf(sum.cpu_ns, sum), sum.kernels,
                          sum.flops == 0 ? Cell() : Cell(sum.flops), tera.empty() ? Cell() : Cell(tera),
                          percent > 0 ? Cell(percent) : Cell(), TypeOf(sum), memory(sum.gpu_memory_self_bytes),
                          memory(sum.gpu_memory_bytes), memory(sum.cpu_memory_self_bytes), memory(sum.cpu_memory_bytes),
                          Utf8(sum.name)});
    if (with_sizes) table.rows.back().emplace_back(Utf8(sum.sizes));
  }
  NoteLeftOut(&table, sums.size());
  return table;
}

std::vector<OperatorSum> WithoutSizes(const std::vector<OperatorSum>& sums) {
  // Calls with inputs of another type have a peak of their own.
  std::map<std::pair<std::string_view, MathType>, OperatorSum> by_name;
  for (const OperatorSum& sum : sums) {
    OperatorSum& all = by_name[{sum.name, sum.flops == 0 ? MathType::kOther : sum.math()}];
    all.name = sum.name, all.has_tf32 = sum.has_tf32;
    if (sum.flops != 0) all.types = sum.types;
    if (sum.device != kNone) all.device = sum.device;
    all.calls += sum.calls, all.kernels += sum.kernels, all.flops += sum.flops;
    all.cpu_ns += sum.cpu_ns, all.cpu_self_ns += sum.cpu_self_ns;
    all.gpu_ns += sum.gpu_ns, all.gpu_self_ns += sum.gpu_self_ns;
    all.cpu_memory_bytes += sum.cpu_memory_bytes, all.cpu_memory_self_bytes += sum.cpu_memory_self_bytes;
    all.gpu_memory_bytes += sum.gpu_memory_bytes, all.gpu_memory_self_bytes += sum.gpu_memory_self_bytes;
  }
  std::vector<OperatorSum> all;
  for (auto& [key, sum] : by_name) all.push_back(std::move(sum));
  std::stable_sort(all.begin(), all.end(), [](const OperatorSum& a, const OperatorSum& b) {
    return std::pair(b.gpu_self_ns, b.cpu_self_ns) < std::pair(a.gpu_self_ns, a.cpu_self_ns);
  });
  return all;
}

}  // namespace

AnalysisResult RunOps(const AnalysisInput& input, const AnalysisOptions& options) {
  AnalysisResult result;
  const Operators operators(input);
  std::vector<OperatorSum> sums = operators.sums;
  std::erase_if(sums, [](const OperatorSum& sum) { return sum.calls == 0; });  // parts of others
  std::sort(sums.begin(), sums.end(), [](const OperatorSum& a, const OperatorSum& b) {
    return std::tie(b.gpu_self_ns, b.cpu_self_ns, a.name, a.sizes, a.types, a.inputs) <
           std::tie(a.gpu_self_ns, a.cpu_self_ns, b.name, b.sizes, b.types, b.inputs);
  });
  result.tables.push_back(TableOf(input.trace(), WithoutSizes(sums), {false, operators.has_memory}, options.max_rows));
  const bool has_sizes =
      std::any_of(sums.begin(), sums.end(), [](const OperatorSum& sum) { return !sum.sizes.empty(); });
  result.tables.push_back(TableOf(input.trace(), has_sizes ? sums : std::vector<OperatorSum>(),
                                  {true, operators.has_memory}, options.max_rows));
  result.tables.back().is_detail = true;
  AddUtilisation(input, operators, options, &result);
  return result;
}

}  // namespace gprof
