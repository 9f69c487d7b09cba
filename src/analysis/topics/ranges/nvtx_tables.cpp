#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/facts/shared_facts.h"
#include "analysis/result/display_names.h"
#include "analysis/result/metrics.h"
#include "analysis/result/statistics.h"
#include "analysis/result/tables.h"
#include "analysis/topics/ranges/range_times.h"
#include "base/saturate.h"
#include "base/units.h"

namespace gprof {
namespace {

// NCCL writes "Message size [bytes]".
bool IsMessageSize(std::string_view key) { return key.find("size [bytes]") != std::string_view::npos; }

constexpr size_t kMostValues = 4;  // of one key: more are counted
constexpr size_t kMostKeys = 8;    // of one range
constexpr size_t kMostPathsWithMetrics = 1000;

std::string Join(const std::set<std::string>& parts, std::string_view separator) {
  std::string text;
  for (const std::string& part : parts) text.append(text.empty() ? "" : separator).append(part);
  return text;
}

struct Payloads {
  int64_t count = 0, sized = 0;
  SaturatingSum bytes;
  int64_t largest_bytes = 0;
  std::map<NameId, std::set<std::pair<NameId, int64_t>>> values;  // by key: text or number; sizes left out

  // Without `with_sizes` it says again what was counted before.
  void Add(const Trace& trace, const NvtxPayload& payload, bool with_sizes) {
    ++count;
    for (uint32_t i = payload.first_value; i < payload.last_value; ++i) {
      const PayloadValue& value = trace.payload_values[i];
      const std::string_view key = trace.Text(value.key);
      if (IsMessageSize(key) && value.is_integer && value.integer >= 0) {
        if (!with_sizes) continue;
        ++sized;
        bytes += value.integer;
        largest_bytes = std::max(largest_bytes, value.integer);
      } else if (values.size() < kMostKeys || values.count(value.key) != 0) {
        auto& of_key = values[value.key];
        // A number that has a name is the same as another with that name.
        if (of_key.size() <= kMostValues) of_key.emplace(value.text, value.text == NameId{} ? value.integer : 0);
      }
    }
  }

  // "Peer rank: more than 4 values; Reduction operation: Max, Sum"
  std::string Text(const Trace& trace) const {
    std::set<std::string> parts;
    for (const auto& [key, of_key] : values) {
      std::set<std::string> texts;
      for (const auto& [text, integer] : of_key) {
        texts.insert(text == NameId{} ? std::to_string(integer) : std::string(trace.Text(text)));
      }
      const bool is_many = of_key.size() > kMostValues;
      parts.insert(std::string(trace.Text(key)) + ": " +
                   (is_many ? "more than " + std::to_string(kMostValues) + " values" : Join(texts, ", ")));
    }
    return Join(parts, "; ");
  }
};

NameId PathOf(const Trace& trace, const NvtxPayload& payload) {
  if (payload.range != kNone) return trace.ranges[payload.range].path;
  return payload.mark == kNone ? NameId{} : trace.marks[payload.mark].name;
}

struct GraphWork {
  SaturatingSum total_ns;
  int64_t operations = 0, nodes = 0;
  void Add(const GraphWork& other) {
    total_ns += other.total_ns;
    operations += other.operations;
    nodes += other.nodes;
  }
};
// The range and the call that built a node, and the range that launched it.
using GraphOrigin = std::tuple<std::string, std::string, std::string>;

std::map<GraphOrigin, GraphWork> GraphWorkByOrigin(const AnalysisInput& input) {
  const Trace& trace = input.trace();
  const auto path_of = [&](uint32_t range) { return range == kNone ? NameId{} : trace.ranges[range].path; };
  std::unordered_map<uint64_t, GraphWork> by_node;  // and the range that launched it
  for (const uint32_t i : input.shared().ops().graph_ops()) {
    const GpuOp& op = trace.ops[i];
    if (op.node == kNone) continue;
    const NameId launched_in = path_of(op.api == kNone ? kNone : trace.api_calls[op.api].range);
    by_node[uint64_t{op.node} << 32 | launched_in.value].Add({op.DurationNs(), 1, 0});
  }
  std::map<GraphOrigin, GraphWork> works;
  for (auto& [key, work] : by_node) {
    const GraphNode& node = trace.graph_nodes[key >> 32];
    const NameId launched_in{static_cast<uint32_t>(key)};
    work.nodes = 1;
    works[{PathName(trace, path_of(node.range)), FunctionName(trace, node.api), PathName(trace, launched_in)}].Add(
        work);
  }
  return works;
}

}  // namespace

Table PayloadTable(const Trace& trace, uint32_t max_rows, AnalysisResult* result) {
  Table table{
      "nvtx_payloads",
      "NVTX payloads",
      {{"count", "Count", Unit::kCount, false},
       {"bytes", "Message bytes", Unit::kBytes, false, "sum of the values named \"size [bytes]\", as in NCCL payloads"},
       {"mean_bytes", "Mean", Unit::kBytes, true, ColumnRole::kMean},
       {"largest_bytes", "Largest", Unit::kBytes, true, ColumnRole::kMost},
       {"path", "NVTX range", Unit::kText, false},
       {"values", "Values", Unit::kText, false, ColumnRole::kCommon}},
      {},
      "",
      RowsOfRanks::kAddUp};
  if (trace.payloads.empty()) return table;
  std::map<uint32_t, Payloads> by_path;
  std::vector<bool> is_counted(trace.ranges.size());  // a range may say its size when it begins and when it ends
  for (const NvtxPayload& payload : trace.payloads) {
    Payloads& payloads = by_path[PathOf(trace, payload).value];
    const int64_t sized_before = payloads.sized;
    const bool has_range = payload.range != kNone;
    payloads.Add(trace, payload, !has_range || !is_counted[payload.range]);
    if (has_range && payloads.sized > sized_before) is_counted[payload.range] = true;
  }
  SaturatingSum bytes;
  int64_t with_metrics = 0;
  for (const auto& [path, payloads] : by_path) {
    bytes += payloads.bytes;
    const std::string name = PathName(trace, NameId{path});
    if (payloads.sized > 0 && ++with_metrics <= static_cast<int64_t>(kMostPathsWithMetrics)) {
      AddMetric(result, "nvtx.payload_bytes", payloads.bytes, "nvtx:" + name);
    }
    const bool has_sizes = payloads.sized > 0;
    const double mean = has_sizes ? static_cast<double>(payloads.bytes) / static_cast<double>(payloads.sized) : 0;
    table.rows.push_back({payloads.count, has_sizes ? Cell(payloads.bytes) : Cell(), has_sizes ? Cell(mean) : Cell(),
                          has_sizes ? Cell(payloads.largest_bytes) : Cell(), name, payloads.Text(trace)});
  }
  AddMetric(result, "nvtx.payloads", trace.payloads.size());
  AddMetric(result, "nvtx.payload_bytes", bytes);
  SortAndCut(&table, 0, 4, max_rows);
  return table;
}

Table GraphWorkTable(const AnalysisInput& input, uint32_t max_rows) {
  Table table{"graph_work",
              "CUDA graph work by origin",
              {{"percent", "Time (%)", Unit::kPercent, false},
               {"total_ns", "Total", Unit::kNs, false},
               {"operations", "Operations", Unit::kCount, false},
               {"nodes", "Nodes", Unit::kCount, false},
               {"path", "Built in", Unit::kText, false},
               {"call", "Built by", Unit::kText, true},
               {"launched_in", "Launched in", Unit::kText, true}},
              {},
              "Percent of the GPU time of graph nodes whose creation was recorded. Work of a graph launched outside "
              "any range counts towards the range that built it."};
  const auto works = GraphWorkByOrigin(input);
  SaturatingSum total_ns;
  for (const auto& [key, work] : works) total_ns += work.total_ns;
  for (const auto& [key, work] : works) {
    table.rows.push_back({PercentOf(work.total_ns, total_ns), work.total_ns, work.operations, work.nodes,
                          std::get<0>(key), std::get<1>(key), std::get<2>(key)});
  }
  SortAndCut(&table, 1, 4, max_rows);
  return table;
}

}  // namespace gprof
