// What each line of Python code did with the GPU.
#include <algorithm>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "analysis/causes/python_line_sums.h"
#include "analysis/facts/places/running_samples.h"
#include "analysis/facts/places/stack_lines.h"
#include "analysis/facts/shared_facts.h"
#include "analysis/result/statistics.h"
#include "analysis/result/tables.h"
#include "analysis/topics/analyses.h"
#include "base/text.h"

namespace gprof {
namespace {

struct LineWithSum {
  std::string name, file;
  const PythonLineSum* sum;
};

std::vector<LineWithSum> LinesWithSums(const Trace& trace, const PythonLines& lines,
                                       const std::vector<PythonLineSum>& sums) {
  std::vector<LineWithSum> rows;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    if (sums[i].calls == 0 && sums[i].gpu_ns == 0 && sums[i].IdleNs() == 0) continue;
    const bool is_known = i < lines.all().size();
    rows.push_back({is_known ? NameOf(trace, lines.all()[i]) : "(no Python)",
                    is_known ? Utf8(trace.Text(lines.all()[i].file)) : "", &sums[i]});
  }
  std::ranges::sort(rows, [](const LineWithSum& a, const LineWithSum& b) {
    const auto weight = [](const LineWithSum& row) { return row.sum->gpu_ns + row.sum->IdleNs(); };
    return std::tuple(weight(b), b.sum->call_ns, a.name) < std::tuple(weight(a), a.sum->call_ns, b.name);
  });
  return rows;
}

// Code that the interpreter has in it: most of what imports modules.
bool IsFrozen(std::string_view file) { return file.starts_with("<frozen "); }

struct SampledLine {
  int64_t running = 0, waiting = 0;
  int64_t running_ns = 0, waiting_ns = 0;
};

// By thread: samples of the kernel have Python's functions on their stacks. They stand for time of a processor, and
// those of Python for time in which the thread could run.
std::vector<bool> HaveLinesOfTheKernel(const Trace& trace, const PythonLines& lines) {
  std::vector<bool> have(trace.threads.size());
  for (const CpuSample& sample : trace.cpu_samples) {
    if (!IsOfPython(sample) && sample.thread != kNone && lines.LineOf(sample.stack) != kNone)
      have[sample.thread] = true;
  }
  return have;
}

// By index into PythonLines::all(), then what is code of the interpreter alone, and at the end of what no line is known
// of.
std::vector<SampledLine> SumSamples(const Trace& trace, const PythonLines& lines) {
  const std::size_t of_interpreter = lines.all().size(), not_known = of_interpreter + 1;
  std::vector<SampledLine> sums(not_known + 1);
  const std::vector<bool> has_lines = HaveLinesOfTheKernel(trace, lines);
  for (const CpuSample& sample : trace.cpu_samples) {
    const uint32_t line = lines.LineOf(sample.stack);
    if (!IsOfPython(sample) && line == kNone) continue;
    const bool is_doubled = sample.sample_kind == trace::SampleKind::kPython && sample.thread != kNone;
    if (is_doubled && has_lines[sample.thread]) continue;
    const bool is_frozen = line != kNone && IsFrozen(trace.Text(lines.all()[line].file));
    SampledLine& sum = sums[line == kNone ? not_known : is_frozen ? of_interpreter : line];
    const bool is_waiting = sample.sample_kind == trace::SampleKind::kPythonWaiting;
    ++(is_waiting ? sum.waiting : sum.running);
    (is_waiting ? sum.waiting_ns : sum.running_ns) += sample.weight_ns;
  }
  return sums;
}

void AddSampledLines(const Trace& trace, const PythonLines& lines, uint32_t max_rows, AnalysisResult* result) {
  const std::vector<SampledLine> sums = SumSamples(trace, lines);
  std::vector<std::size_t> order;
  int64_t running_ns = 0;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    running_ns += sums[i].running_ns;
    if (sums[i].running + sums[i].waiting != 0) order.push_back(i);
  }
  if (order.empty()) return;
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
    return std::tuple(sums[b].running_ns, sums[b].waiting_ns, a) <
           std::tuple(sums[a].running_ns, sums[a].waiting_ns, b);
  });
  Table table{
      "python_samples",
      "Python samples by line",
      {{"running_percent", "Running (%)", Unit::kPercent, false},
       {"running_ns", "Running", Unit::kNs, false},
       {"waiting_ns", "Waiting", Unit::kNs, false, "for the GIL, a lock or a file, or sleeping"},
       {"running", "Samples", Unit::kCount, false},
       {"waiting", "Waiting samples", Unit::kCount, true},
       {"line", "Line", Unit::kText, false, "the innermost line of the program itself, not of installed packages"},
       {"file", "File", Unit::kText, true}},
      {},
      "Times are summed over all sampled threads.",
      RowsOfRanks::kAddUp};
  const std::size_t shown = RowsShown(order.size(), max_rows);
  for (std::size_t i = 0; i < shown; ++i) {
    const SampledLine& sum = sums[order[i]];
    const bool is_known = order[i] < lines.all().size();
    const char* const instead = order[i] == lines.all().size() ? "(Python itself)" : "(line not known)";
    table.rows.push_back({PercentOf(sum.running_ns, running_ns), sum.running_ns, sum.waiting_ns, sum.running,
                          sum.waiting, is_known ? NameOf(trace, lines.all()[order[i]]) : instead,
                          is_known ? Utf8(trace.Text(lines.all()[order[i]].file)) : ""});
  }
  CountLeftOut(&table, order.size());
  result->tables.push_back(std::move(table));
}

}  // namespace

AnalysisResult RunPythonLines(const AnalysisInput& input, const AnalysisOptions& options) {
  AnalysisResult result;
  Table table{
      "python_lines",
      "By Python line",
      {{"gpu_percent", "GPU (%)", Unit::kPercent, false, ColumnRole::kShareElsewhere},
       {"gpu_ns", "GPU time", Unit::kNs, false, "work that the line launched"},
       {"idle_ns", "GPU idle", Unit::kNs, false, "before that work or during calls of the line"},
       {"wait_ns", "Wait time", Unit::kNs, false, "waiting for the GPU"},
       {"call_ns", "Call time", Unit::kNs, true},
       {"calls", "Calls", Unit::kCount, false},
       {"kernels", "Kernels", Unit::kCount, false},
       {"copies", "Copies", Unit::kCount, false},
       {"waits", "Waits", Unit::kCount, true},
       {"memory_calls", "Allocations", Unit::kCount, true},
       {"line", "Line", Unit::kText, false, "the innermost line of the program itself, not of installed packages"},
       {"file", "File", Unit::kText, true}},
      {},
      "",
      RowsOfRanks::kAddUp};
  const std::vector<PythonLineSum> sums = SumByPythonLine(input);
  const std::vector<LineWithSum> rows = LinesWithSums(input.trace(), input.shared().python_lines(), sums);
  int64_t gpu_ns = 0;
  for (const LineWithSum& row : rows) gpu_ns += row.sum->gpu_ns;
  const std::size_t shown = RowsShown(rows.size(), options.max_rows);
  for (std::size_t i = 0; i < shown; ++i) {
    const PythonLineSum& sum = *rows[i].sum;
    table.rows.push_back({PercentOf(sum.gpu_ns, gpu_ns), sum.gpu_ns, sum.IdleNs(), sum.wait_ns, sum.call_ns, sum.calls,
                          sum.kernels, sum.copies, sum.waits, sum.memory_calls, rows[i].name, rows[i].file});
  }
  CountLeftOut(&table, rows.size());
  result.tables.push_back(std::move(table));
  AddSampledLines(input.trace(), input.shared().python_lines(), options.max_rows, &result);
  return result;
}

}  // namespace gprof
