#include <algorithm>
#include <tuple>

#include "trace/joins.h"
#include "trace/range_cursor.h"

namespace gprof {
namespace {

// Each node once: what is said of it again is the same.
void SortNodes(std::vector<GraphNode>& nodes) {
  std::sort(nodes.begin(), nodes.end(), [](const GraphNode& a, const GraphNode& b) {
    return std::tie(a.process, a.id, a.time_ns) < std::tie(b.process, b.id, b.time_ns);
  });
  const auto is_same = [](const GraphNode& a, const GraphNode& b) { return a.process == b.process && a.id == b.id; };
  nodes.erase(std::unique(nodes.begin(), nodes.end(), is_same), nodes.end());
}

// Instantiation clones the nodes of a graph, and child graphs are cloned into their parents: the code that matters made
// the first of them. A chain that leads to a node that was not recorded, or in a circle, has no source.
void FindSources(std::vector<GraphNode>& nodes, const FlatIndex& by_id) {
  std::vector<uint8_t> is_done(nodes.size());
  std::vector<uint32_t> chain;
  for (uint32_t i = 0; i < nodes.size(); ++i) {
    chain.clear();
    uint32_t at = i;
    while (at != kNone && is_done[at] == 0) {
      is_done[at] = 1;  // a circle ends here, without a source
      chain.push_back(at);
      if (nodes[at].original_id == 0) nodes[at].source = at;
      at = nodes[at].original_id == 0 ? at : by_id.Find(nodes[at].process, nodes[at].original_id);
    }
    const uint32_t source = at == kNone ? kNone : nodes[at].source;
    for (const uint32_t node : chain) nodes[node].source = source;
  }
}

// The outermost call of the thread at `time_ns`, which lies in the last call that began before it or in one around
// that.
uint32_t OutermostCallAt(const Trace& t, uint32_t thread, int64_t time_ns) {
  const Trace::Slice slice = t.thread_api_calls[thread];
  const auto first = t.api_calls.begin() + slice.first, last = t.api_calls.begin() + slice.last;
  const auto after = std::partition_point(first, last, [&](const ApiCall& call) { return call.start_ns <= time_ns; });
  if (after == first) return kNone;
  auto call = static_cast<uint32_t>(after - t.api_calls.begin()) - 1;
  while (t.api_calls[call].parent != kNone) call = t.api_calls[call].parent;
  return time_ns <= t.api_calls[call].end_ns ? call : kNone;
}

void FindMakers(Trace& t) {
  std::vector<uint32_t> order;
  for (uint32_t i = 0; i < t.graph_nodes.size(); ++i) {
    if (t.graph_nodes[i].thread != kNone) order.push_back(i);
  }
  const auto key = [&](uint32_t i) { return std::make_tuple(t.graph_nodes[i].thread, t.graph_nodes[i].time_ns, i); };
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return key(a) < key(b); });
  for (std::size_t i = 0; i < order.size();) {
    const uint32_t thread = t.graph_nodes[order[i]].thread;
    RangeCursor ranges(t, thread);
    for (; i < order.size() && t.graph_nodes[order[i]].thread == thread; ++i) {
      GraphNode& node = t.graph_nodes[order[i]];
      node.range = ranges.At(node.time_ns);
      node.api = OutermostCallAt(t, thread, node.time_ns);
    }
  }
}

}  // namespace

void LinkGraphNodes(Trace& t) {
  if (t.graph_nodes.empty()) return;
  SortNodes(t.graph_nodes);
  FlatIndex by_id;
  for (uint32_t i = 0; i < t.graph_nodes.size(); ++i) by_id(t.graph_nodes[i].process, t.graph_nodes[i].id) = i;
  FindSources(t.graph_nodes, by_id);
  FindMakers(t);
  for (GpuOp& op : t.ops) {
    if (op.graph_node == 0) continue;
    const uint32_t node = by_id.Find(op.process, op.graph_node);
    if (node != kNone) op.node = t.graph_nodes[node].source;
  }
}

}  // namespace gprof
