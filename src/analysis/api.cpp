// Time in CUDA calls by function. Calls that the runtime makes itself are within those of the program.
#include <string>
#include <utility>
#include <vector>

#include "analysis/analyses.h"
#include "analysis/metrics.h"
#include "analysis/shared_facts.h"
#include "analysis/statistics.h"
#include "analysis/tables.h"

namespace gprof {

AnalysisResult RunApi(const AnalysisInput& input, const AnalysisOptions& options) {
  const Trace& trace = input.trace();
  const CallFacts& calls = input.shared().calls();
  Groups durations(trace.strings.size());
  for (uint32_t i = 0; i < durations.size(); ++i) durations.Count(i, calls.counts_of_functions()[i]);
  durations.Seal();
  std::vector<uint32_t> functions;  // by the facts of calls
  for (uint32_t i = 0; i < trace.api_calls.FactsCount(); ++i) {
    functions.push_back(trace.api_calls.FactsAt(i).function.value);
  }
  const uint32_t* const function_of = functions.data();
  const PackedCalls& all = trace.api_calls;
  durations.AddDurations(all, [function_of, &all](const PackedCalls::Item& call) {
    const bool is_inner = call.MayHaveParent() && all.Parent(static_cast<size_t>(&call - all.items().data())) != kNone;
    return is_inner ? kNone : function_of[call.facts];
  });

  AnalysisResult result;
  Table table{"api", "CUDA calls", TimeColumns(), {}, "Percent of the time in all calls, summed over the threads."};
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
