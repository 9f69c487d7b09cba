// Time in CUDA calls by function. Calls that the runtime makes itself are within those of the program.
#include <string>
#include <utility>
#include <vector>

#include "analysis/facts/shared_facts.h"
#include "analysis/facts/statistics.h"
#include "analysis/result/analyses.h"
#include "analysis/result/metrics.h"
#include "analysis/result/tables.h"

namespace gprof {

namespace {

// By function. Most calls share their facts with the one before: where the next one goes is looked up when they change.
void AddDurations(const PackedCalls& calls, Groups* by_function) {
  const PackedCalls::Item *const begin = calls.items().data(), *const end = begin + calls.size();
  for (const PackedCalls::Item* call = begin; call != end;) {
    const uint32_t run = call->facts, function = calls.FactsAt(run).function.value;
    if (uint32_t* const first = by_function->if_short(function); first != nullptr) {
      uint32_t* next = first;
      for (; call != end && call->facts == run && call->parent == 0 && call->duration_high == 0; ++call) {
        PrefetchForReading(call);
        *next++ = call->duration;
      }
      by_function->Added(function, static_cast<size_t>(next - first));
      if (next != first) continue;
    }
    const bool is_inner = call->MayHaveParent() && calls.Parent(static_cast<size_t>(call - begin)) != kNone;
    if (!is_inner) by_function->Add(function, calls.EndNs(*call) - call->start_ns());
    ++call;
  }
}

}  // namespace

AnalysisResult RunApi(const AnalysisInput& input, const AnalysisOptions& options) {
  const Trace& trace = input.trace();
  const CallFacts& calls = input.shared().calls();
  Groups durations(trace.strings.size());
  for (uint32_t i = 0; i < durations.size(); ++i) durations.Count(i, calls.counts_of_functions()[i]);
  durations.Seal();
  AddDurations(trace.api_calls, &durations);

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
