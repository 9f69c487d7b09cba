// CPU samples by function.
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "analysis/facts/places/call_places.h"
#include "analysis/facts/places/running_samples.h"
#include "analysis/facts/places/sampled_functions.h"
#include "analysis/facts/places/stack_lines.h"
#include "analysis/facts/shared_facts.h"
#include "analysis/result/metrics.h"
#include "analysis/result/statistics.h"
#include "analysis/result/tables.h"
#include "analysis/topics/analyses.h"
#include "base/demangle.h"

namespace gprof {

namespace {

// Of functions whose share is not chance. Overloads count as one.
void AddMetrics(const std::vector<FunctionSamples>& functions, AnalysisResult* result) {
  std::map<std::string, FunctionSamples> sums;
  int64_t all_ns = 0;
  for (const FunctionSamples& function : functions) {
    FunctionSamples& sum = sums[ShortName(function.name)];
    sum.self += function.self;
    sum.self_ns += function.self_ns;
    all_ns += function.self_ns;
  }
  if (all_ns == 0) return;
  AddMetric(result, "host.function_ns", all_ns);
  for (const auto& [name, sum] : sums) {
    if (sum.self >= static_cast<int64_t>(kSamplesToNameAFunction)) {
      AddMetric(result, "host.function_ns", sum.self_ns, "function:" + name);
    }
  }
}

// Of the innermost frame of a stack, where Python or debug information tells, and of other code the line of Python that
// it ran for.
std::string LineOf(const Trace& trace, const PythonLines& python, uint32_t stack) {
  const uint32_t frame = trace.stacks[stack].frame;
  if (const uint32_t line = LineOfFrame(trace, frame); line != 0) {
    const Module& code = trace.modules[trace.frames[frame].module];
    return PlaceOf(trace, {code.path, code.name, line});
  }
  const std::span<const Symbol> symbols = trace.SymbolsOf(frame);
  if (!symbols.empty() && symbols.front().line != 0)
    return PlaceOf(trace, {symbols.front().file, symbols.front().name, symbols.front().line});
  const uint32_t line = python.LineOf(stack);
  return line == kNone ? "" : PlaceOf(trace, python.all()[line]);
}

// By function and module, the line that most of its own samples were in.
std::map<std::pair<std::string, std::string>, PlaceSums> LinesOf(SampledFunctions& functions, const PythonLines& python,
                                                                 const std::vector<uint32_t>& samples) {
  const Trace& trace = functions.trace();
  std::map<uint32_t, int64_t> of_stacks;
  for (const uint32_t i : samples) ++of_stacks[trace.cpu_samples[i].stack];
  std::map<std::pair<std::string, std::string>, PlaceSums> lines;
  for (const auto& [stack, count] : of_stacks) {
    const uint32_t function = functions.Innermost(stack);
    if (function == kNone) continue;
    lines[{functions[function].name, functions[function].module}].Add(LineOf(trace, python, stack), count);
  }
  return lines;
}

}  // namespace

AnalysisResult RunCpuFunctions(const AnalysisInput& input, const AnalysisOptions& options) {
  const Trace& trace = input.trace();
  AnalysisResult result;
  const RunningSamples counted(trace);
  std::vector<uint32_t> running;
  for (uint32_t i = 0; i < trace.cpu_samples.size(); ++i) {
    if (counted.Has(trace.cpu_samples[i])) running.push_back(i);
  }
  if (!trace.cpu_samples.empty()) AddMetric(&result, "host.samples", running.size());
  Table table{"cpu_functions",
              "CPU samples by function",
              {{"percent", "Self (%)", Unit::kPercent, false, ColumnRole::kShare, "", "self"},
               {"inclusive_percent", "Inclusive (%)", Unit::kPercent, false, ColumnRole::kOwn},
               {"self", "Samples", Unit::kCount, false},
               {"inclusive", "Incl. samples", Unit::kCount, true},
               {"self_ns", "Time", Unit::kNs, true, "estimated from the samples"},
               {"function", "Function", Unit::kText, false},
               {"module", "Module", Unit::kText, false},
               {"line", "Main line", Unit::kText, true}},
              {},
              "Percent of the CPU samples of all running threads.",
              RowsOfRanks::kAddUp};
  const auto count = static_cast<int64_t>(running.size());
  SampledFunctions sampled(trace);
  const std::vector<FunctionSamples> functions = CountFunctions(sampled, running);
  AddMetrics(functions, &result);
  auto lines = LinesOf(sampled, input.shared().python_lines(), running);
  const size_t shown = RowsShown(functions.size(), options.max_rows);
  for (size_t i = 0; i < shown; ++i) {
    const FunctionSamples& f = functions[i];
    table.rows.push_back({PercentOf(f.self, count), PercentOf(f.inclusive, count), f.self, f.inclusive, f.self_ns,
                          f.name, f.module, lines[{f.name, f.module}].Main()});
  }
  CountLeftOut(&table, functions.size());
  result.tables.push_back(std::move(table));
  return result;
}

}  // namespace gprof
