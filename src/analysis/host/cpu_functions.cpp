// CPU samples by function.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "analysis/facts/statistics.h"
#include "analysis/host/sampled_functions.h"
#include "analysis/result/analyses.h"
#include "analysis/result/metrics.h"
#include "analysis/result/tables.h"
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

}  // namespace

AnalysisResult RunCpuFunctions(const AnalysisInput& input, const AnalysisOptions& options) {
  const Trace& trace = input.trace();
  AnalysisResult result;
  std::vector<uint32_t> running;
  for (uint32_t i = 0; i < trace.cpu_samples.size(); ++i) {
    if (trace.cpu_samples[i].sample_kind != trace::SampleKind::kPythonWaiting) running.push_back(i);
  }
  if (!trace.cpu_samples.empty()) AddMetric(&result, "host.samples", running.size());
  Table table{"cpu_functions",
              "CPU samples by function",
              {{"percent", "Self", Unit::kPercent, false},
               {"inclusive_percent", "Inclusive", Unit::kPercent, false},
               {"self", "Samples", Unit::kCount, false},
               {"inclusive", "Incl. samples", Unit::kCount, true},
               {"self_ns", "Time", Unit::kNs, true},
               {"function", "Function", Unit::kText, false},
               {"module", "Module", Unit::kText, false}},
              {},
              "Percent of the CPU samples of all running threads. Time: estimated from the samples."};
  const auto count = static_cast<int64_t>(running.size());
  const std::vector<FunctionSamples> functions = CountFunctions(trace, running);
  AddMetrics(functions, &result);
  const size_t shown = RowsShown(functions.size(), options.max_rows);
  for (size_t i = 0; i < shown; ++i) {
    const FunctionSamples& f = functions[i];
    table.rows.push_back(
        {PercentOf(f.self, count), PercentOf(f.inclusive, count), f.self, f.inclusive, f.self_ns, f.name, f.module});
  }
  NoteLeftOut(&table, functions.size());
  result.tables.push_back(std::move(table));
  return result;
}

}  // namespace gprof
