#include "analysis/topics/launches/graph_layers.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/facts/operators/module_tree.h"
#include "analysis/facts/places/stack_lines.h"
#include "analysis/facts/shared_facts.h"
#include "analysis/facts/steps/step_windows.h"
#include "analysis/result/display_names.h"
#include "analysis/result/statistics.h"
#include "analysis/result/student_limit.h"
#include "analysis/result/tables.h"
#include "base/text.h"

namespace gprof {
namespace {

constexpr int64_t kReplaysOfAnInterval = 3;  // with fewer, none is given

// One node as a replay ran it.
struct NodeRun {
  uint32_t replay = 0, node = kNone;
  int64_t start_ns = 0, end_ns = 0;
};

class Replays {
 public:
  explicit Replays(const AnalysisInput& input) {
    const Trace& trace = input.trace();
    std::map<std::tuple<uint32_t, uint32_t, uint32_t>, uint32_t> numbers;  // by process, graph, launch
    for (const uint32_t i : input.shared().ops().graph_ops()) {
      const GpuOp& op = trace.ops[i];
      const uint32_t correlation = trace.CorrelationOf(op);
      if (op.kind == OpKind::kGraph || op.graph == 0 || correlation == 0) continue;
      has_nodes_ = has_nodes_ || op.node != kNone;
      const auto [at, is_new] =
          numbers.try_emplace({op.process, op.graph, correlation}, static_cast<uint32_t>(graphs_.size()));
      if (is_new) graphs_.push_back({op.process, op.graph});
      runs_.push_back({at->second, op.node, op.start_ns, op.end_ns});
    }
    std::ranges::stable_sort(runs_, [](const NodeRun& a, const NodeRun& b) {
      return std::tie(a.replay, a.start_ns) < std::tie(b.replay, b.start_ns);
    });
  }

  using Graph = std::pair<uint32_t, uint32_t>;  // its process, its number
  bool HasNodes() const { return has_nodes_; }
  const std::vector<NodeRun>& runs() const { return runs_; }  // by replay, then start
  Graph GraphOf(uint32_t replay) const { return graphs_[replay]; }

 private:
  bool has_nodes_ = false;
  std::vector<Graph> graphs_;  // by replay
  std::vector<NodeRun> runs_;
};

// What nodes are divided by: a module within others, a range, a line.
struct NodeParts {
  std::vector<uint32_t> of_nodes;  // kNone: not known
  std::vector<uint32_t> parents;   // kNone: within none
  uint32_t Of(uint32_t node) const { return node == kNone ? kNone : of_nodes[node]; }
};

// Of a part over the replays of a graph.
struct PartSum {
  int64_t total_ns = 0, idle_ns = 0, nodes = 0;
  double squares = 0;          // of the times of replays
  int64_t in_this_replay = 0;  // until it is over
};

struct GraphSum {
  int64_t replays = 0;
  PartSum all;
  std::map<uint32_t, PartSum> parts;
};

class Division {
 public:
  Division(const Replays& replays, const NodeParts& parts) : parts_(parts) {
    const std::vector<NodeRun>& runs = replays.runs();
    for (size_t first = 0, last = 0; first < runs.size(); first = last) {
      GraphSum& graph = graphs_[replays.GraphOf(runs[first].replay)];
      int64_t until_ns = runs[first].start_ns;
      for (; last < runs.size() && runs[last].replay == runs[first].replay; ++last) {
        const int64_t idle_ns = std::max<int64_t>(runs[last].start_ns - until_ns, 0);
        until_ns = std::max(until_ns, runs[last].end_ns);
        Add(runs[last], idle_ns, &graph);
      }
      EndReplay(&graph);
    }
  }
  const std::map<Replays::Graph, GraphSum>& graphs() const { return graphs_; }

 private:
  void Add(const NodeRun& run, int64_t idle_ns, GraphSum* graph) const {
    const auto add = [&](PartSum* sum) {
      sum->in_this_replay += run.end_ns - run.start_ns;
      sum->idle_ns += idle_ns;
      ++sum->nodes;
    };
    add(&graph->all);
    uint32_t part = parts_.Of(run.node);
    add(&graph->parts[part]);
    while (part != kNone && (part = parts_.parents[part]) != kNone) add(&graph->parts[part]);
  }

  static void EndReplay(GraphSum* graph) {
    const auto end = [](PartSum* sum) {
      const int64_t ns = std::exchange(sum->in_this_replay, 0);
      sum->total_ns += ns;
      sum->squares += static_cast<double>(ns) * static_cast<double>(ns);
    };
    ++graph->replays;
    end(&graph->all);
    for (auto& [part, sum] : graph->parts) end(&sum);
  }

  const NodeParts& parts_;
  std::map<Replays::Graph, GraphSum> graphs_;
};

Table EmptyTable(const char* id, const char* title, Column what) {
  Table table{
      id,
      title,
      {{"graph", "Graph", Unit::kText, false},
       {"replays", "Replays", Unit::kCount, true},
       {"percent", "Time (%)", Unit::kPercent, false},
       {"mean_ns", "Time", Unit::kNs, false, ColumnRole::kMean, "per replay"},
       {"interval_ns", "+-", Unit::kNs, false, ColumnRole::kOwn, "half of the 95% interval of the mean"},
       {"idle_ns", "Idle", Unit::kNs, false, ColumnRole::kMean, "no node of the replay ran, before those of the row"},
       {"nodes", "Nodes", Unit::kCount, true, ColumnRole::kMean, "per replay"}},
      {},
      "Percent of the time of all nodes of the graph."};
  table.columns.push_back({"path", "Path", Unit::kText, true});
  table.columns.push_back(std::move(what));
  return table;
}

std::vector<Cell> RowOf(const Replays::Graph& graph, int64_t replays, const PartSum& all, const PartSum& part) {
  const auto n = static_cast<double>(replays);
  const double mean = static_cast<double>(part.total_ns) / n;
  Cell interval;
  if (replays >= kReplaysOfAnInterval) {
    const double variance = std::max(part.squares - n * mean * mean, 0.0) / (n - 1);
    interval = static_cast<int64_t>(std::llround(StudentLimit(n - 1) * std::sqrt(variance / n)));
  }
  return {"graph " + std::to_string(graph.second),
          replays,
          PercentOf(part.total_ns, all.total_ns),
          static_cast<int64_t>(std::llround(mean)),
          interval,
          static_cast<int64_t>(std::llround(static_cast<double>(part.idle_ns) / n)),
          static_cast<int64_t>(std::llround(static_cast<double>(part.nodes) / n))};
}

struct PartName {
  std::string path, shown;  // in full, and in the order of the table
};

// order(sums): the parts in the order of rows. name(part): a PartName, of kNone as well.
template <class Order, class Name>
void AddRows(const Division& division, Order&& order, Name&& name, Table* table) {
  using Entry = std::pair<const Replays::Graph, GraphSum>;
  std::vector<const Entry*> graphs;
  for (const Entry& entry : division.graphs()) graphs.push_back(&entry);
  std::ranges::stable_sort(graphs, std::greater<>(), [](const Entry* e) { return e->second.all.total_ns; });
  for (const Entry* entry : graphs) {
    const auto& [graph, sum] = *entry;
    const auto add = [&](const PartSum& part, PartName text) {
      table->rows.push_back(RowOf(graph, sum.replays, sum.all, part));
      table->rows.back().emplace_back(std::move(text.path));
      table->rows.back().emplace_back(std::move(text.shown));
    };
    add(sum.all, {"", "(all nodes)"});
    for (const uint32_t part : order(sum.parts)) add(sum.parts.at(part), name(part));
  }
}

std::vector<uint32_t> ByTime(const std::map<uint32_t, PartSum>& parts) {
  std::vector<uint32_t> order;
  for (const auto& [part, sum] : parts) order.push_back(part);
  std::ranges::stable_sort(order, std::greater<>(), [&](uint32_t part) { return parts.at(part).total_ns; });
  return order;
}

void AddByModule(const Replays& replays, const ModuleTree& tree, Table* table) {
  NodeParts parts;
  std::vector<uint32_t> folded_of;
  std::vector<ModuleSum> folded = tree.Folded(&folded_of);
  for (const uint32_t module : tree.of_nodes) parts.of_nodes.push_back(module == kNone ? kNone : folded_of[module]);
  for (const ModuleSum& module : folded) parts.parents.push_back(module.parent);
  const Division division(replays, parts);
  const auto order = [&](const std::map<uint32_t, PartSum>& sums) {
    for (uint32_t i = 0; i < folded.size(); ++i) {
      const auto at = sums.find(i);
      folded[i].gpu_ns = at == sums.end() ? 0 : at->second.total_ns;
    }
    std::vector<uint32_t> shown;
    for (const uint32_t module : TreeOrder(folded)) {
      if (sums.contains(module)) shown.push_back(module);
    }
    if (sums.contains(kNone)) shown.push_back(kNone);
    return shown;
  };
  const auto name = [&](uint32_t part) -> PartName {
    if (part == kNone) return {"", "(no module)"};
    return {Utf8(folded[part].path), Utf8(NameInTree(folded, folded[part]))};
  };
  AddRows(division, order, name, table);
}

// By what is the same text for several nodes.
template <class Text>
void AddByText(const Replays& replays, size_t nodes, Text&& text_of, Table* table) {
  NodeParts parts;
  std::map<std::string, uint32_t> numbers;
  std::vector<std::string> texts;
  for (uint32_t node = 0; node < nodes; ++node) {
    std::string text = text_of(node);
    const auto [at, is_new] = numbers.try_emplace(text, static_cast<uint32_t>(texts.size()));
    if (is_new) texts.push_back(std::move(text));
    parts.of_nodes.push_back(texts[at->second].empty() ? kNone : at->second);
  }
  parts.parents.assign(texts.size(), kNone);
  const auto name = [&](uint32_t part) -> PartName {
    return part == kNone ? PartName{"", "(not known)"} : PartName{texts[part], texts[part]};
  };
  AddRows(Division(replays, parts), ByTime, name, table);
}

// The line of the code that made a node: its own stack, or that of the call.
std::string LineOf(const AnalysisInput& input, const GraphNode& node) {
  const PythonLines& lines = input.shared().python_lines();
  uint32_t line = lines.LineOf(node.stack);
  if (line == kNone) line = lines.LineOfCall(node.api);
  return line == kNone ? std::string() : NameOf(input.trace(), lines.all()[line]);
}

}  // namespace

void AddGraphLayers(const AnalysisInput& input, uint32_t max_rows, AnalysisResult* result) {
  const Trace& trace = input.trace();
  Table layers =
      EmptyTable("graph_layers", "CUDA graphs by layer", {"layer", "Module or NVTX range", Unit::kText, false});
  Table lines = EmptyTable("graph_lines", "CUDA graphs by line", {"line", "Python", Unit::kText, false});
  lines.is_detail = true;
  const Replays replays(input);
  if (replays.HasNodes()) {
    const ModuleTree tree(input, StepWindows());
    const auto range_of = [&](uint32_t i) {
      const GraphNode& node = trace.graph_nodes[i];
      if (node.range != kNone) return PathName(trace, trace.ranges[node.range].path);
      return Utf8(trace.Text(node.place));
    };
    const bool has_modules = std::ranges::any_of(tree.of_nodes, [](uint32_t module) { return module != kNone; });
    if (has_modules) {
      AddByModule(replays, tree, &layers);
    } else {
      AddByText(replays, trace.graph_nodes.size(), range_of, &layers);
    }
    AddByText(
        replays, trace.graph_nodes.size(), [&](uint32_t i) { return LineOf(input, trace.graph_nodes[i]); }, &lines);
  }
  CutRows(&layers, max_rows);
  CutRows(&lines, max_rows);
  result->tables.push_back(std::move(layers));
  result->tables.push_back(std::move(lines));
}

}  // namespace gprof
