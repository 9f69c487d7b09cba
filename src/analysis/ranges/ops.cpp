// Operators of frameworks: by operator, and by operator and sizes of its inputs.
#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/facts/statistics.h"
#include "analysis/ranges/operators.h"
#include "analysis/result/analyses.h"
#include "analysis/result/tables.h"
#include "base/text.h"

namespace gprof {
namespace {

constexpr std::string_view kNote =
    "Self: excluding nested operators. GPU: time of the work that the operator launched. TFLOP/s: floating-point "
    "operations divided by GPU total, for operators with known input sizes. Peak: of the type, dense, at the "
    "highest clock.";

std::vector<Column> ColumnsOf(bool with_sizes) {
  std::vector<Column> columns = {{"gpu_percent", "GPU %", Unit::kPercent, true},
                                 {"gpu_self_ns", "GPU self", Unit::kNs, false},
                                 {"gpu_ns", "GPU total", Unit::kNs, false},
                                 {"cpu_self_ns", "CPU self", Unit::kNs, false},
                                 {"cpu_ns", "CPU total", Unit::kNs, false},
                                 {"calls", "Calls", Unit::kCount, false},
                                 {"kernels", "GPU ops", Unit::kCount, true},
                                 {"flops", "FLOP", Unit::kCount, true},
                                 {"tflops", "TFLOP/s", Unit::kText, true},
                                 {"peak_percent", "% of peak", Unit::kPercent, true},
                                 {"type", "Type", Unit::kText, true},
                                 {"operator", "Operator", Unit::kText, false}};
  if (with_sizes) columns.push_back({"sizes", "Sizes", Unit::kText, false});
  return columns;
}

std::string TeraflopsOf(const OperatorSum& sum) {
  if (sum.flops == 0 || sum.gpu_ns == 0) return {};
  const double tera = static_cast<double>(sum.flops) / static_cast<double>(sum.gpu_ns) / 1e3;
  const std::string text = std::to_string(tera);
  return text.substr(0, text.find('.') + 3);
}

Cell TypeOf(const OperatorSum& sum) {
  return sum.math() == MathType::kOther ? Cell() : Cell(std::string(NameOf(sum.math())));
}

Table TableOf(const Trace& trace, const std::vector<OperatorSum>& sums, bool with_sizes, uint32_t max_rows) {
  const std::string_view id = with_sizes ? "ops_by_shape" : "ops";
  const std::string_view title = with_sizes ? "Operators by input sizes" : "Operators";
  Table table{std::string(id), std::string(title), ColumnsOf(with_sizes), {}, std::string(kNote)};
  int64_t gpu_ns = 0;
  for (const OperatorSum& sum : sums) gpu_ns += sum.gpu_self_ns;
  const std::size_t shown = RowsShown(sums.size(), max_rows);
  for (std::size_t i = 0; i < shown; ++i) {
    const OperatorSum& sum = sums[i];
    const std::string tera = TeraflopsOf(sum);
    const double percent = sum.PeakPercent(trace);
    table.rows.push_back({PercentOf(sum.gpu_self_ns, gpu_ns), sum.gpu_self_ns, sum.gpu_ns, sum.cpu_self_ns, sum.cpu_ns,
                          sum.calls, sum.kernels, sum.flops == 0 ? Cell() : Cell(sum.flops),
                          tera.empty() ? Cell() : Cell(tera), percent > 0 ? Cell(percent) : Cell(), TypeOf(sum),
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
  const std::vector<OperatorSum> sums = SumOperators(input);
  result.tables.push_back(TableOf(input.trace(), WithoutSizes(sums), false, options.max_rows));
  const bool has_sizes =
      std::any_of(sums.begin(), sums.end(), [](const OperatorSum& sum) { return !sum.sizes.empty(); });
  result.tables.push_back(
      TableOf(input.trace(), has_sizes ? sums : std::vector<OperatorSum>(), true, options.max_rows));
  result.tables.back().is_detail = true;
  return result;
}

}  // namespace gprof
