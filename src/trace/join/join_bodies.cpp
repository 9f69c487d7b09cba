// The operations in the bodies of conditional nodes: CUPTI says which graph and node they are of, but not which call
// launched them (libcupti 13.0: correlation id 0). Launches of one executable graph run one after the other, so that
// the order of time tells where it is certain.
#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "trace/join/join.h"

namespace gprof {
namespace {

struct BodyOp {
  int64_t start_ns = 0;
  uint32_t op = kNone;
};

// A launch of the graph, from the first of its operations that names its call.
struct GraphRun {
  int64_t start_ns = 0;
  uint32_t call = kNone;
};

struct BodyGraph {
  std::vector<BodyOp> ops;
  std::vector<GraphRun> runs;
};

using GraphKey = std::pair<uint32_t, uint32_t>;  // process and graph
using BodyGraphs = std::map<GraphKey, BodyGraph>;

constexpr auto kByStart = [](const auto& a, const auto& b) { return a.start_ns < b.start_ns; };

bool IsInBody(const PackedOps::Item& op, const PackedOps::Traits& traits) {
  return !op.HasCall() && op.Correlation() == 0 && traits.graph != 0 && traits.kind != OpKind::kGraph;
}

BodyGraphs FindBodies(const PackedOps& ops) {
  BodyGraphs graphs;
  const PackedOps::Items& items = ops.items();
  for (uint32_t i = 0; i < items.size(); ++i) {
    const PackedOps::Traits& traits = ops.TraitsOf(items[i]);
    if (IsInBody(items[i], traits)) graphs[{traits.process, traits.graph}].ops.push_back({items[i].start_ns(), i});
  }
  return graphs;
}

void FindRuns(const PackedOps& ops, BodyGraphs* graphs) {
  for (const PackedOps::Item& item : ops.items()) {
    const PackedOps::Traits& traits = ops.TraitsOf(item);
    if (!item.HasCall() || traits.graph == 0) continue;
    const auto graph = graphs->find({traits.process, traits.graph});
    if (graph != graphs->end()) graph->second.runs.push_back({item.start_ns(), item.Call()});
  }
  for (auto& [key, graph] : *graphs) {
    std::stable_sort(graph.ops.begin(), graph.ops.end(), kByStart);
    std::stable_sort(graph.runs.begin(), graph.runs.end(), kByStart);
    const auto is_same = [](const GraphRun& a, const GraphRun& b) { return a.call == b.call; };
    graph.runs.erase(std::unique(graph.runs.begin(), graph.runs.end(), is_same), graph.runs.end());
  }
}

class BodyLinker {
 public:
  BodyLinker(Trace& trace, LinkedOps* linked) : trace_(trace), linked_(linked) {}

  // Whatever sets the condition of a node is a node of the graph itself that ran before it, so that a body runs after
  // the first operation of its launch that names the call.
  void LinkByRuns(const BodyGraph& graph) {
    for (const BodyOp& op : graph.ops) {
      const auto next = std::upper_bound(graph.runs.begin(), graph.runs.end(), op, kByStart);
      if (next != graph.runs.begin()) Link(op.op, std::prev(next)->call);
    }
  }

  // For a graph that has nothing outside of bodies: where each of its nodes ran as often as there are launches without
  // an operation, once in each of them. `calls` are in order of time. False where that is not so.
  bool LinkByCount(const BodyGraph& graph, const std::vector<GraphRun>& calls) {
    std::map<uint64_t, std::vector<BodyOp>> by_node;
    for (const BodyOp& op : graph.ops) by_node[trace_.ops.TraitsOf(trace_.ops.items()[op.op]).graph_node].push_back(op);
    if (!IsOnceInEach(by_node, calls)) return false;
    for (const auto& [node, ops] : by_node) {
      for (std::size_t i = 0; i < ops.size(); ++i) Link(ops[i].op, calls[i].call);
    }
    return true;
  }

 private:
  static bool IsOnceInEach(const std::map<uint64_t, std::vector<BodyOp>>& by_node, const std::vector<GraphRun>& calls) {
    for (const auto& [node, ops] : by_node) {
      if (ops.size() != calls.size()) return false;
    }
    int64_t last_ns = 0;  // of the launch before
    for (std::size_t i = 0; i < calls.size(); ++i) {
      int64_t end_ns = last_ns;
      for (const auto& [node, ops] : by_node) {
        if (ops[i].start_ns < calls[i].start_ns || ops[i].start_ns < last_ns) return false;
        end_ns = std::max(end_ns, ops[i].start_ns);
      }
      last_ns = end_ns;
    }
    return true;
  }

  void Link(uint32_t op, uint32_t call) {
    trace_.ops.items()[op].SetCall(call);
    trace_.api_calls.CountOp(call);
    ++linked_->with_call;
  }

  Trace& trace_;
  LinkedOps* linked_;
};

// Outermost calls of the process that launched a graph of which no operation is known, in order.
std::vector<GraphRun> LaunchesWithoutOps(const Trace& t, uint32_t process) {
  std::vector<GraphRun> calls;
  for (uint32_t i = 0; i < t.api_calls.size(); ++i) {
    const PackedCalls::Traits& traits = t.api_calls.TraitsAt(t.api_calls.TraitsIndex(i));
    if (traits.process != process || traits.api_class != ApiClass::kGraphLaunch || traits.result != 0) continue;
    const ApiCall& call = t.api_calls[i];
    if (call.parent == kNone && call.op_count == 0) calls.push_back({call.start_ns, i});
  }
  std::stable_sort(calls.begin(), calls.end(), kByStart);
  return calls;
}

// Of a process: the graphs that nothing of names a call.
std::vector<const BodyGraph*> WithoutRuns(const BodyGraphs& graphs, uint32_t process) {
  std::vector<const BodyGraph*> found;
  for (auto at = graphs.lower_bound({process, 0}); at != graphs.end() && at->first.first == process; ++at) {
    if (at->second.runs.empty()) found.push_back(&at->second);
  }
  return found;
}

}  // namespace

void LinkBodies(Trace& t, LinkedOps* linked) {
  if (t.health.unmatched_ops == 0) return;
  BodyGraphs graphs = FindBodies(t.ops);
  if (graphs.empty()) return;
  FindRuns(t.ops, &graphs);
  BodyLinker linker(t, linked);
  uint64_t bodies = 0;
  for (const auto& [key, graph] : graphs) {
    linker.LinkByRuns(graph);
    bodies += graph.ops.size();
  }
  for (uint32_t process = 0; process < t.processes.size(); ++process) {
    const std::vector<const BodyGraph*> found = WithoutRuns(graphs, process);
    if (found.empty()) continue;
    if (found.size() == 1 && linker.LinkByCount(*found[0], LaunchesWithoutOps(t, process))) continue;
    linked->has_loose_bodies.resize(t.processes.size());
    linked->has_loose_bodies[process] = 1;
  }
  // Nothing is missing of those that stay without a call either. Kernels that the GPU launched were taken off before.
  t.health.unmatched_ops -= std::min(t.health.unmatched_ops, bodies);
}

}  // namespace gprof
