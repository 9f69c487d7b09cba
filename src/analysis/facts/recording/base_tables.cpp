#include "analysis/facts/recording/base_tables.h"

#include <map>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/result/display_names.h"
#include "analysis/result/statistics.h"
#include "analysis/result/tables.h"

namespace gprof {
namespace {

// Rows of times, those that took longest first; the name of a thing is behind its times.
template <class Key, class NameOf>
void AddRows(std::map<Key, std::vector<int64_t>>* durations, uint32_t max_rows, NameOf name_of, Table* table) {
  int64_t all_ns = 0;
  std::map<Key, Statistics> times;
  for (auto& [key, of_key] : *durations) {
    all_ns += (times[key] = Summarize(std::span<int64_t>(of_key))).total;
  }
  for (const auto& [key, of_key] : times) {
    table->rows.push_back(TimeCells(of_key, all_ns));
    for (Cell& cell : name_of(key)) table->rows.back().push_back(std::move(cell));
  }
  SortAndCut(table, kTotalNsColumn, table->columns.size() - 1, max_rows);
}

}  // namespace

Table BaseCallTable(const Trace& trace, uint32_t max_rows) {
  Table table{"base_calls", "Waits and long calls between windows", TimeColumns(), {}, "", RowsOfRanks::kAddUp};
  table.columns.emplace_back("function", "Function", Unit::kText);
  table.note =
      "Percent of these calls. Outside of windows all waits and launches of graphs are recorded, and other calls from "
      "50 us. Kernel launches, asynchronous copies and event calls are not.";
  std::map<NameId, std::vector<int64_t>> by_function;
  for (const BaseCall& call : trace.base_calls) by_function[call.function].push_back(call.DurationNs());
  const auto name_of = [&](NameId function) { return std::vector<Cell>{std::string(trace.Text(function))}; };
  AddRows(&by_function, max_rows, name_of, &table);
  return table;
}

Table BaseGraphTable(const Trace& trace, uint32_t max_rows) {
  Table table{"base_graphs", "CUDA graphs between windows", TimeColumns(), {}, ""};
  table.columns.emplace_back("graph", "Graph", Unit::kCount, false, ColumnRole::kOwn, "its id in the process");
  table.columns.emplace_back("device", "Device", Unit::kText);
  table.note = "Percent of these graphs. GPU time from the start of the first node to the end of the last.";
  using Key = std::tuple<uint32_t, uint32_t, uint32_t>;  // process, graph, device
  std::map<Key, std::vector<int64_t>> by_graph;
  for (const BaseGraph& graph : trace.base_graphs) {
    by_graph[{graph.process, graph.graph, graph.device}].push_back(graph.DurationNs());
  }
  const auto name_of = [&](const Key& key) {
    const uint32_t device = std::get<2>(key);
    return std::vector<Cell>{static_cast<int64_t>(std::get<1>(key)),
                             device == kNone ? std::string() : DeviceScope(trace, device)};
  };
  AddRows(&by_graph, max_rows, name_of, &table);
  return table;
}

}  // namespace gprof
