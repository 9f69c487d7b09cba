// Time in CUDA calls by function. Calls that the runtime makes itself are within those of the program.
#include <string>
#include <utility>

#include "analysis/analyses.h"
#include "analysis/metrics.h"
#include "analysis/statistics.h"
#include "analysis/tables.h"

namespace gprof {
namespace {

template <class F>
void ForEachOutermostCall(const Trace& trace, F&& f) {
  for (const ApiCall& call : trace.api_calls) {
    if (call.parent == kNone) f(call);
  }
}

}  // namespace

AnalysisResult RunApi(const AnalysisInput& input, const AnalysisOptions& options) {
  const Trace& trace = input.trace();
  Groups durations(trace.strings.size());
  int64_t count = 0, total_ns = 0;
  ForEachOutermostCall(trace, [&](const ApiCall& call) {
    durations.Count(call.function.value);
    ++count;
    total_ns += call.DurationNs();
  });
  durations.Seal();
  ForEachOutermostCall(trace, [&](const ApiCall& call) { durations.Add(call.function.value, call.DurationNs()); });

  AnalysisResult result;
  Table table{"api", "CUDA calls", TimeColumns(), {}, "Percent of the time in all calls, summed over the threads."};
  table.columns.push_back({"name", "Function", Unit::kText, false});
  for (uint32_t i = 0; i < durations.size(); ++i) {
    if (durations.Of(i).empty()) continue;
    table.rows.push_back(TimeCells(Summarize(durations.Of(i)), total_ns));
    table.rows.back().emplace_back(trace.strings[i]);
  }
  SortAndCut(&table, kTotalNsColumn, kTimeColumnCount, options.max_rows);
  result.tables.push_back(std::move(table));
  AddMetric(&result, "api.calls", count);
  AddMetric(&result, "api.total_ns", total_ns);
  return result;
}

}  // namespace gprof
