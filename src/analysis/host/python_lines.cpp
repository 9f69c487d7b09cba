// What each line of Python code did with the GPU.
#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "analysis/facts/shared_facts.h"
#include "analysis/facts/stack_lines.h"
#include "analysis/facts/statistics.h"
#include "analysis/host/python_line_sums.h"
#include "analysis/result/analyses.h"
#include "analysis/result/tables.h"
#include "base/text.h"

namespace gprof {
namespace {

struct Row {
  std::string name, file;
  const PythonLineSum* sum;
};

std::vector<Row> RowsOf(const Trace& trace, const PythonLines& lines, const std::vector<PythonLineSum>& sums) {
  std::vector<Row> rows;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    if (sums[i].calls == 0 && sums[i].gpu_ns == 0 && sums[i].IdleNs() == 0) continue;
    const bool is_known = i < lines.all().size();
    rows.push_back({is_known ? NameOf(trace, lines.all()[i]) : "(no Python)",
                    is_known ? Utf8(trace.Text(lines.all()[i].file)) : "", &sums[i]});
  }
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    const auto weight = [](const Row& row) { return row.sum->gpu_ns + row.sum->IdleNs(); };
    return std::tuple(weight(b), b.sum->call_ns, a.name) < std::tuple(weight(a), a.sum->call_ns, b.name);
  });
  return rows;
}

}  // namespace

AnalysisResult RunPythonLines(const AnalysisInput& input, const AnalysisOptions& options) {
  AnalysisResult result;
  Table table{"python_lines",
              "By Python line",
              {{"gpu_percent", "GPU %", Unit::kPercent, false},
               {"gpu_ns", "GPU time", Unit::kNs, false},
               {"idle_ns", "GPU idle", Unit::kNs, false},
               {"wait_ns", "Wait time", Unit::kNs, false},
               {"call_ns", "Call time", Unit::kNs, true},
               {"calls", "Calls", Unit::kCount, false},
               {"kernels", "Kernels", Unit::kCount, false},
               {"copies", "Copies", Unit::kCount, false},
               {"waits", "Waits", Unit::kCount, true},
               {"memory_calls", "Allocations", Unit::kCount, true},
               {"line", "Line", Unit::kText, false},
               {"file", "File", Unit::kText, true}},
              {},
              "Line: the innermost line of the program itself, not of installed packages. GPU time: work that the line "
              "launched. GPU idle: before that work or during calls of the line. Wait time: waiting for the GPU."};
  const std::vector<PythonLineSum> sums = SumByPythonLine(input);
  const std::vector<Row> rows = RowsOf(input.trace(), input.shared().python_lines(), sums);
  int64_t gpu_ns = 0;
  for (const Row& row : rows) gpu_ns += row.sum->gpu_ns;
  const std::size_t shown = RowsShown(rows.size(), options.max_rows);
  for (std::size_t i = 0; i < shown; ++i) {
    const PythonLineSum& sum = *rows[i].sum;
    table.rows.push_back({PercentOf(sum.gpu_ns, gpu_ns), sum.gpu_ns, sum.IdleNs(), sum.wait_ns, sum.call_ns, sum.calls,
                          sum.kernels, sum.copies, sum.waits, sum.memory_calls, rows[i].name, rows[i].file});
  }
  NoteLeftOut(&table, rows.size());
  result.tables.push_back(std::move(table));
  return result;
}

}  // namespace gprof
