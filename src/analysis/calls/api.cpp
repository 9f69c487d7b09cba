// Time in CUDA calls by function. Calls that the runtime makes itself are within those of the program.
#include <string>
#include <utility>
#include <vector>

#include "analysis/facts/operations.h"
#include "analysis/facts/shared_facts.h"
#include "analysis/facts/statistics.h"
#include "analysis/result/analyses.h"
#include "analysis/result/metrics.h"
#include "analysis/result/tables.h"

namespace gprof {

AnalysisResult RunApi(const AnalysisInput& input, const AnalysisOptions& options) {
  const Trace& trace = input.trace();
  const CallFacts& calls = input.shared().calls();
  Groups durations(trace.strings.size());
  for (uint32_t i = 0; i < durations.size(); ++i) durations.Count(i, calls.counts_of_functions()[i]);
  durations.Seal();
  for (const Call call : CallsOf(trace)) {
    if (call.is_outermost()) durations.Add(call.shared().function.value, call.duration_ns());
  }

  AnalysisResult result;
  Table table{"api", "CUDA calls", TimeColumns(), {}, "Percent of the time in all calls, summed over all threads."};
  table.columns.push_back({"name", "Function", Unit::kText, false});
  for (uint32_t i = 0; i < durations.size(); ++i) {
    if (durations.Of(i).empty()) continue;
    table.rows.push_back(TimeCells(durations.Of(i).Summary(), calls.total_ns()));
    table.rows.back().emplace_back(trace.strings[i]);
  }
  SortAndCut(&table, kTotalNsColumn, kTimeColumnCount, options.max_rows);
  result.tables.push_back(std::move(table));
  AddMetric(&result, "api.calls", calls.count());
  AddMetric(&result, "api.total_ns", calls.total_ns());
  return result;
}

}  // namespace gprof
