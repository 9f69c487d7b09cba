// Time in CUDA calls by function. Calls that the runtime makes itself are within those of the program.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analysis/facts/operations/operations.h"
#include "analysis/facts/places/call_places.h"
#include "analysis/facts/shared_facts.h"
#include "analysis/result/metrics.h"
#include "analysis/result/statistics.h"
#include "analysis/result/tables.h"
#include "analysis/topics/analyses.h"

namespace gprof {
namespace {

bool HasCallStacks(const Trace& trace) {
  for (uint32_t i = 0; i < trace.api_calls.TraitsCount(); ++i) {
    if (HasFunctions(trace, trace.api_calls.TraitsAt(i).stack)) return true;
  }
  return false;
}

// Calls by the place that made them, where --cudabacktrace recorded it: of those alone that took long.
Table CallSiteTable(const AnalysisInput& input, uint32_t max_rows) {
  Table table{"call_sites",
              "CUDA calls by call site",
              {{"total_ns", "Total", Unit::kNs, false},
               {"calls", "Calls", Unit::kCount, false},
               {"operations", "Operations", Unit::kCount, false},
               {"gpu_ns", "GPU time", Unit::kNs, false, "kernels, copies and memsets they launched"},
               {"function", "Function", Unit::kText, false},
               {"place", "Called from", Unit::kText, false}},
              {},
              "Calls with a recorded call stack (--cudabacktrace).",
              RowsOfRanks::kAddUp};
  const Trace& trace = input.trace();
  if (!HasCallStacks(trace)) return table;
  struct Sum {
    int64_t total_ns = 0, calls = 0, operations = 0, gpu_ns = 0;
  };
  std::vector<Sum> of_traits;
  for (const CallFacts::Sum& calls : input.shared().calls().sums()) of_traits.push_back({calls.total_ns, calls.count});
  for (const Operation op : OperationsOf(trace)) {
    const uint32_t call = OutermostCall(trace, op.call());
    if (call == kNone) continue;
    Sum& sum = of_traits[trace.api_calls.TraitsIndex(call)];
    ++sum.operations, sum.gpu_ns += op.duration_ns();
  }
  CallPlaces places(trace, input.shared().python_lines());
  std::map<std::pair<std::string, NameId>, Sum> sums;
  for (uint32_t i = 0; i < of_traits.size(); ++i) {
    const PackedCalls::Traits& traits = trace.api_calls.TraitsAt(i);
    if (of_traits[i].calls == 0 || !HasFunctions(trace, traits.stack)) continue;
    Sum& sum = sums[{places(traits.stack), traits.function}];
    sum.total_ns += of_traits[i].total_ns, sum.calls += of_traits[i].calls;
    sum.operations += of_traits[i].operations, sum.gpu_ns += of_traits[i].gpu_ns;
  }
  for (const auto& [key, sum] : sums) {
    table.rows.push_back(
        {sum.total_ns, sum.calls, sum.operations, sum.gpu_ns, std::string(trace.Text(key.second)), key.first});
  }
  SortAndCut(&table, 0, 5, max_rows);
  return table;
}

}  // namespace

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
  Table table{"api",
              "CUDA calls",
              TimeColumns(),
              {},
              "Percent of the time in all calls, summed over all threads. The first call that needs a GPU also creates "
              "its context.",
              RowsOfRanks::kAddUp};
  table.columns.push_back({"name", "Function", Unit::kText, false});
  AddHistogramColumn(options, "median_ns", &table);
  for (uint32_t i = 0; i < durations.size(); ++i) {
    if (durations.Of(i).empty()) continue;
    const Statistics times = durations.Of(i).Summary(SpreadFor(options));
    table.rows.push_back(TimeCells(times, calls.total_ns()));
    table.rows.back().emplace_back(trace.strings[i]);
    AddHistogramCell(options, times, &table.rows.back());
  }
  SortAndCut(&table, kTotalNsColumn, kTimeColumnCount, options.max_rows);
  result.tables.push_back(std::move(table));
  result.tables.push_back(CallSiteTable(input, options.max_rows));
  AddMetric(&result, "api.calls", calls.count());
  AddMetric(&result, "api.total_ns", calls.total_ns());
  return result;
}

}  // namespace gprof
