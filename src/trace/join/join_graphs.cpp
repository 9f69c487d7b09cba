#include <algorithm>
#include <tuple>

#include "trace/join/join.h"
#include "trace/load/range_cursor.h"

namespace gprof {
namespace {

// Each node once: what is said of it again is the same, except that CUPTI may first call a clone a node of its own.
void SortNodes(std::vector<GraphNode>& nodes) {
  const auto key = [](const GraphNode& n) { return std::make_tuple(n.process, n.id, n.original_id == 0, n.time_ns); };
  std::sort(nodes.begin(), nodes.end(), [&](const GraphNode& a, const GraphNode& b) { return key(a) < key(b); });
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

// The outermost call of a thread at times that only go forward.
class OutermostCallCursor {
 public:
  OutermostCallCursor(const Trace& trace, uint32_t thread)
      : trace_(trace), next_(trace.thread_api_calls[thread].first), last_(trace.thread_api_calls[thread].last) {}

  uint32_t At(int64_t time_ns) {
    for (; next_ < last_ && trace_.api_calls[next_].start_ns <= time_ns; ++next_) {
      if (trace_.api_calls[next_].parent == kNone) call_ = next_;
    }
    return call_ != kNone && time_ns <= trace_.api_calls[call_].end_ns ? call_ : kNone;
  }

 private:
  const Trace& trace_;
  uint32_t next_, last_, call_ = kNone;
};

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
    OutermostCallCursor calls(t, thread);
    for (; i < order.size() && t.graph_nodes[order[i]].thread == thread; ++i) {
      GraphNode& node = t.graph_nodes[order[i]];
      node.range = ranges.At(node.time_ns);
      node.api = calls.At(node.time_ns);
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
  t.ops.ChangeTraits([&](PackedOps::Traits& op) {
    const uint32_t node = op.graph_node == 0 ? kNone : by_id.Find(op.process, op.graph_node);
    if (node != kNone) op.node = t.graph_nodes[node].source;
  });
}

}  // namespace gprof
