// CPU samples by function.
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "analysis/facts/statistics.h"
#include "analysis/host/sampled_functions.h"
#include "analysis/places/call_places.h"
#include "analysis/places/running_samples.h"
#include "analysis/places/stack_lines.h"
#include "analysis/result/analyses.h"
#include "analysis/result/metrics.h"
#include "analysis/result/tables.h"
#include "base/demangle.h"
#include "base/text.h"

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

// By function, the source line that most of its own samples were in, where debug information or Python tells.
std::map<std::string, PlaceSums> LinesOf(const Trace& trace, const std::vector<uint32_t>& samples) {
  std::vector<int64_t> of_frames(trace.frames.size());
  for (const uint32_t i : samples) {
    const uint32_t stack = trace.cpu_samples[i].stack;
    if (stack != kNone && trace.stacks[stack].frame != kNone) ++of_frames[trace.stacks[stack].frame];
  }
  std::map<std::string, PlaceSums> lines;
  for (uint32_t frame = 0; frame < of_frames.size(); ++frame) {
    if (of_frames[frame] == 0) continue;
    const std::span<const Symbol> symbols = trace.SymbolsOf(frame);
    if (const uint32_t line = LineOfFrame(trace, frame); line != 0) {
      const Module& code = trace.modules[trace.frames[frame].module];
      lines[Utf8(trace.Text(code.name))].Add(PlaceOf(trace, {code.path, code.name, line}), of_frames[frame]);
    } else if (!symbols.empty() && symbols.front().line != 0) {
      const Symbol& symbol = symbols.front();
      lines[Utf8(Demangle(trace.Text(symbol.name)))].Add(PlaceOf(trace, {symbol.file, symbol.name, symbol.line}),
                                                         of_frames[frame]);
    }
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
              {{"percent", "Self (%)", Unit::kPercent, false},
               {"inclusive_percent", "Inclusive (%)", Unit::kPercent, false},
               {"self", "Samples", Unit::kCount, false},
               {"inclusive", "Incl. samples", Unit::kCount, true},
               {"self_ns", "Time", Unit::kNs, true},
               {"function", "Function", Unit::kText, false},
               {"module", "Module", Unit::kText, false},
               {"line", "Main line", Unit::kText, true}},
              {},
              "Percent of the CPU samples of all running threads. Time: estimated from the samples."};
  const auto count = static_cast<int64_t>(running.size());
  const std::vector<FunctionSamples> functions = CountFunctions(trace, running);
  AddMetrics(functions, &result);
  std::map<std::string, PlaceSums> lines = LinesOf(trace, running);
  const size_t shown = RowsShown(functions.size(), options.max_rows);
  for (size_t i = 0; i < shown; ++i) {
    const FunctionSamples& f = functions[i];
    table.rows.push_back({PercentOf(f.self, count), PercentOf(f.inclusive, count), f.self, f.inclusive, f.self_ns,
                          f.name, f.module, lines[f.name].Main()});
  }
  NoteLeftOut(&table, functions.size());
  result.tables.push_back(std::move(table));
  return result;
}

}  // namespace gprof
