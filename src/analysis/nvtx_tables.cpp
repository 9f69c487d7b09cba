#include "analysis/nvtx_tables.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/metrics.h"
#include "analysis/names.h"
#include "analysis/statistics.h"
#include "analysis/tables.h"
#include "base/units.h"

namespace gprof {
namespace {

// NCCL writes "Message size [bytes]".
bool IsMessageSize(std::string_view key) {
  return key.find("size [bytes]") != std::string_view::npos;
}

constexpr size_t kMostValues = 4;  // of one key: more are counted
constexpr size_t kMostKeys = 8;    // of one range
constexpr size_t kMostPathsWithMetrics = 1000;

struct Payloads {
  int64_t count = 0, sized = 0;
  int64_t bytes = 0, largest_bytes = 0;
  std::map<std::string, std::set<std::string>> values;  // by key, sizes left out

  // Without `with_sizes` it says again what was counted before.
  void Add(const Trace& trace, const NvtxPayload& payload, bool with_sizes) {
    ++count;
    for (uint32_t i = payload.first_value; i < payload.last_value; ++i) {
      const PayloadValue& value = trace.payload_values[i];
      const std::string_view key = trace.Text(value.key);
      if (IsMessageSize(key) && value.is_integer && value.integer >= 0) {
        if (!with_sizes) continue;
        ++sized;
        bytes = value.integer > INT64_MAX - bytes ? INT64_MAX : bytes + value.integer;
        largest_bytes = std::max(largest_bytes, value.integer);
      } else if (values.size() < kMostKeys || values.count(std::string(key)) != 0) {
        std::set<std::string>& texts = values[std::string(key)];
        if (texts.size() <= kMostValues) texts.insert(PayloadText(trace, value));
      }
    }
  }

  // "Reduction operation: Max, Sum; Root: more than 4 values"
  std::string Text() const {
    std::string text;
    for (const auto& [key, texts] : values) {
      text += (text.empty() ? "" : "; ") + key + ": ";
      if (texts.size() > kMostValues) {
        text += "more than " + std::to_string(kMostValues) + " values";
        continue;
      }
      bool is_first = true;
      for (const std::string& one : texts) {
        text += (is_first ? "" : ", ") + one;
        is_first = false;
      }
    }
    return text;
  }
};

NameId PathOf(const Trace& trace, const NvtxPayload& payload) {
  if (payload.range != kNone) return trace.ranges[payload.range].path;
  return payload.mark == kNone ? NameId{} : trace.marks[payload.mark].name;
}

}  // namespace

Table PayloadTable(const Trace& trace, uint32_t max_rows, AnalysisResult* result) {
  Table table{"nvtx_payloads",
              "NVTX payloads",
              {{"count", "Count", Unit::kCount, false},
               {"bytes", "Message bytes", Unit::kBytes, false},
               {"mean_bytes", "Mean", Unit::kBytes, true},
               {"largest_bytes", "Largest", Unit::kBytes, true},
               {"path", "NVTX range", Unit::kText, false},
               {"values", "Values", Unit::kText, false}},
              {},
              "Message bytes: the sum of the values whose name says \"size [bytes]\", as NCCL has them."};
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
  int64_t bytes = 0, with_metrics = 0;
  for (const auto& [path, payloads] : by_path) {
    bytes += payloads.bytes;
    const std::string name = PathName(trace, NameId{path});
    if (payloads.sized > 0 && ++with_metrics <= static_cast<int64_t>(kMostPathsWithMetrics)) {
      AddMetric(result, "nvtx.payload_bytes", payloads.bytes, "nvtx:" + name);
    }
    const bool has_sizes = payloads.sized > 0;
    const double mean = has_sizes ? static_cast<double>(payloads.bytes) / static_cast<double>(payloads.sized) : 0;
    table.rows.push_back({payloads.count, has_sizes ? Cell(payloads.bytes) : Cell(), has_sizes ? Cell(mean) : Cell(),
                          has_sizes ? Cell(payloads.largest_bytes) : Cell(), name, payloads.Text()});
  }
  AddMetric(result, "nvtx.payloads", trace.payloads.size());
  AddMetric(result, "nvtx.payload_bytes", bytes);
  SortAndCut(&table, 0, 4, max_rows);
  return table;
}

Table GraphWorkTable(const Trace& trace, uint32_t max_rows) {
  Table table{"graph_work",
              "Work of CUDA graphs by the code that built them",
              {{"percent", "Time", Unit::kPercent, false},
               {"total_ns", "Total", Unit::kNs, false},
               {"operations", "Operations", Unit::kCount, false},
               {"nodes", "Nodes", Unit::kCount, false},
               {"path", "Built in", Unit::kText, false},
               {"call", "Built by", Unit::kText, true},
               {"launched_in", "Launched in", Unit::kText, true}},
              {},
              "Percent of the GPU time of graph nodes whose making was recorded. Where a graph was launched outside of "
              "any range, its work counts as GPU time of the range that built it."};
  struct Work {
    int64_t total_ns = 0, operations = 0;
    std::set<uint32_t> nodes;
  };
  std::map<std::tuple<std::string, std::string, std::string>, Work> works;
  int64_t total_ns = 0;
  const auto path_of = [&](uint32_t range) {
    return PathName(trace, range == kNone ? NameId{} : trace.ranges[range].path);
  };
  for (const GpuOp& op : trace.ops) {
    if (op.node == kNone) continue;
    const GraphNode& node = trace.graph_nodes[op.node];
    const uint32_t launch_range = op.api == kNone ? kNone : trace.api_calls[op.api].range;
    Work& work = works[{path_of(node.range), FunctionName(trace, node.api), path_of(launch_range)}];
    work.total_ns += op.DurationNs();
    ++work.operations;
    work.nodes.insert(op.node);
    total_ns += op.DurationNs();
  }
  for (const auto& [key, work] : works) {
    table.rows.push_back({PercentOf(work.total_ns, total_ns), work.total_ns, work.operations,
                          static_cast<int64_t>(work.nodes.size()), std::get<0>(key), std::get<1>(key),
                          std::get<2>(key)});
  }
  SortAndCut(&table, 1, 4, max_rows);
  return table;
}

}  // namespace gprof
