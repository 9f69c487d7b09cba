// What the host did in idle time that no CUDA call explains, as far as calls of the operating system and MPI and CPU
// samples tell.
#include <algorithm>
#include <map>
#include <utility>

#include "analysis/facts/places/call_places.h"
#include "analysis/facts/places/python_waits.h"
#include "analysis/facts/places/sampled_functions.h"
#include "analysis/facts/shared_facts.h"
#include "analysis/result/display_names.h"
#include "analysis/result/statistics.h"
#include "analysis/result/tables.h"
#include "analysis/topics/idle/idle_tables.h"
#include "base/units.h"

namespace gprof {

namespace {

// Where most of the time in calls of each kind was spent, by thread, what Python calls it, and where that was ended.
struct PlaceAndWord {
  PlaceSums places, words, ends;
};
using Places = std::map<std::pair<OsCallKind, uint32_t>, PlaceAndWord>;

Places PlacesOf(const AnalysisInput& input) {
  const Trace& trace = input.trace();
  CallPlaces places(trace, input.shared().python_lines());
  PythonWaits waits(trace);
  const OsCallKinds& kinds = input.shared().os_call_kinds();
  Places of_kinds;
  for (const OsCall& call : trace.os_calls) {
    if (call.stack == kNone && call.waker_stack == kNone) continue;
    PlaceAndWord& of_kind = of_kinds[{kinds.KindOf(call), call.thread}];
    of_kind.places.Add(places(call.stack), call.DurationNs());
    of_kind.words.Add(waits.WordFor(call), call.DurationNs());
    of_kind.ends.Add(places(call.waker_stack), call.DurationNs());
  }
  return of_kinds;
}

}  // namespace

Table IdleOsTable(const AnalysisInput& input, const IdleSummary& summary, const HostGaps& host, uint32_t max_rows) {
  Table table{"idle_by_os",
              "Idle by operating system call",
              {{"percent", "Idle (%)", Unit::kPercent, false, ColumnRole::kShareElsewhere},
               {"idle_ns", "Time", Unit::kNs, false},
               {"calls", "Calls", Unit::kCount, false},
               {"function", "Function", Unit::kText, false},
               {"object", "Object", Unit::kText, false},
               {"holder", "Waited for", Unit::kText, false, ColumnRole::kCommon,
                "the thread that held the lock or woke this one"},
               {"bytes", "Bytes", Unit::kBytes, true},
               {"thread", "Thread", Unit::kText, true, ColumnRole::kCommon},
               {"place", "Called from", Unit::kText, true},
               {"waker_place", "Woken from", Unit::kText, true, ColumnRole::kCommon, "where it did"}},
              {},
              "Percent of all idle time, by the call in which the launching thread was blocked.",
              RowsOfRanks::kAddUp};
  const Trace& trace = input.trace();
  const int64_t idle_ns = summary.Sum().split.Total();
  Places places = PlacesOf(input);
  const size_t shown = RowsShown(host.waits.size(), max_rows);
  for (size_t i = 0; i < shown; ++i) {
    const IdleInWait& wait = host.waits[i];
    const bool is_recorded = wait.kind.function != NameId{};
    const PlaceAndWord& place = places[{wait.kind, wait.thread}];
    table.rows.push_back({PercentOf(wait.idle_ns, idle_ns), wait.idle_ns, wait.calls,
                          is_recorded ? std::string(trace.Text(wait.kind.function)) : "(not recorded)",
                          ObjectName(trace, wait.kind, place.words.Main()), HolderName(trace, wait.kind), wait.bytes,
                          ThreadName(trace, wait.thread), place.places.Main(), place.ends.Main()});
  }
  CountLeftOut(&table, host.waits.size());
  return table;
}

Table IdleMpiTable(const Trace& trace, const IdleSummary& summary, const HostGaps& host, uint32_t max_rows) {
  Table table{"idle_by_mpi",
              "Idle by MPI call",
              {{"percent", "Idle (%)", Unit::kPercent, false, ColumnRole::kShareElsewhere},
               {"idle_ns", "Time", Unit::kNs, false},
               {"calls", "Calls", Unit::kCount, false},
               {"function", "Function", Unit::kText, false},
               {"thread", "Thread", Unit::kText, true, ColumnRole::kCommon}},
              {},
              "Percent of all idle time, by the MPI call in which the launching thread was.",
              RowsOfRanks::kAddUp};
  const int64_t idle_ns = summary.Sum().split.Total();
  const size_t shown = RowsShown(host.mpi.size(), max_rows);
  for (size_t i = 0; i < shown; ++i) {
    const IdleInMpi& wait = host.mpi[i];
    table.rows.push_back({PercentOf(wait.idle_ns, idle_ns), wait.idle_ns, wait.calls,
                          std::string(trace.Text(wait.function)), ThreadName(trace, wait.thread)});
  }
  CountLeftOut(&table, host.mpi.size());
  return table;
}

Table IdleFunctionTable(const IdleSummary& summary, const HostGaps& host, uint32_t max_rows) {
  Table table{"idle_by_function",
              "Host code while the GPU was idle",
              {{"percent", "Self (%)", Unit::kPercent, false, ColumnRole::kShareElsewhere},
               {"samples", "Samples", Unit::kCount, false},
               {"inclusive", "Incl. samples", Unit::kCount, false},
               {"function", "Function", Unit::kText, false},
               {"module", "Module", Unit::kText, false}},
              {},
              "Percent of the CPU samples of the launching thread in idle time with the causes host and os.",
              RowsOfRanks::kAddUp};
  const auto count = static_cast<int64_t>(host.samples.size());
  if (count == 0) return table;
  const std::vector<FunctionSamples>& functions = host.functions;
  const size_t shown = RowsShown(functions.size(), max_rows);
  for (size_t i = 0; i < shown; ++i) {
    const FunctionSamples& function = functions[i];
    table.rows.push_back(
        {PercentOf(function.self, count), function.self, function.inclusive, function.name, function.module});
  }
  table.note += " Based on " + CountOf(count, "sample") + " for " + FormatNs(summary.Sum().split[Cause::kHost]) + ".";
  if (host.samples.size() < kSamplesToNameAFunction) table.note += " Too few for reliable shares.";
  CountLeftOut(&table, functions.size());
  return table;
}

// A range with its functions below one another, the range with the most samples first.
Table IdleFunctionPathTable(const Trace& trace, const HostGaps& host, uint32_t max_rows) {
  constexpr size_t kFunctionsOfAPath = 3;
  Table table{"idle_by_nvtx_function",
              "Host code while the GPU was idle, by NVTX range",
              {{"path", "NVTX range", Unit::kText, false},
               {"range_samples", "In range", Unit::kCount, false,
                "samples of the launching thread while the GPU was idle and this range was its innermost open one"},
               {"percent", "Self (%)", Unit::kPercent, false, "of those"},
               {"samples", "Samples", Unit::kCount, false},
               {"function", "Function", Unit::kText, false},
               {"module", "Module", Unit::kText, false}},
              {},
              "The functions with the most CPU samples of their own in each range, at most three."};
  const auto has_range = [](const auto& entry) { return entry.first != NameId{}; };
  if (std::ranges::none_of(host.samples_of_path, has_range)) return table;
  std::vector<const std::pair<const NameId, std::vector<uint32_t>>*> paths;
  for (const auto& entry : host.samples_of_path) paths.push_back(&entry);
  std::ranges::stable_sort(paths, [](const auto* a, const auto* b) { return a->second.size() > b->second.size(); });
  const size_t shown =
      RowsShown(paths.size(), static_cast<uint32_t>((max_rows + kFunctionsOfAPath - 1) / kFunctionsOfAPath));
  SampledFunctions sampled(trace);
  for (size_t i = 0; i < shown; ++i) {
    const auto& [path, samples] = *paths[i];
    const auto count = static_cast<int64_t>(samples.size());
    std::vector<FunctionSamples> functions = CountFunctions(sampled, samples);
    functions.resize(std::min(functions.size(), kFunctionsOfAPath));
    for (const FunctionSamples& function : functions) {
      if (function.self == 0) break;
      table.rows.push_back({PathName(trace, path), count, PercentOf(function.self, count), function.self, function.name,
                            function.module});
    }
  }
  const auto left_out = static_cast<int64_t>(paths.size() - shown);
  if (left_out > 0) table.note += " " + CountOf(left_out, "range") + " with fewer samples not shown.";
  return table;
}

}  // namespace gprof
