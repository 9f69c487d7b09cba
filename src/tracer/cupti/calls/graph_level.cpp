#include "tracer/cupti/calls/graph_level.h"

#include <algorithm>
#include <atomic>

#include "tracer/core/notice.h"
#include "tracer/core/tracer.h"
#include "tracer/cupti/activity/activity_kinds.h"

namespace gprof::tracer {
namespace {

constexpr uint64_t kAffordablePerSecond = 20000;  // at 0.4 µs a node, less than one percent of the time
constexpr uint64_t kEnoughNs = 300u * 1000000u;
constexpr uint64_t kEnoughLaunches = 20;

struct Graph {
  std::atomic<uint32_t> id;  // 0: free
  std::atomic<uint32_t> nodes;
};
constexpr uint32_t kGraphs = 4096;
Graph graphs[kGraphs];
constinit std::atomic<uint64_t> graph_count{0}, node_count{0};

// Of the launches so far.
constinit std::atomic<uint64_t> launches{0}, nodes_run{0}, first_ns{0}, last_ns{0};
constinit std::atomic<bool> is_decided{false}, has_conditional_node{false};
constinit std::atomic<uint32_t> first_device{0};  // more by one; 0: none yet

// Null when there are too many graphs: the average stands for the rest.
Graph* GraphOf(uint32_t id, bool may_add) {
  for (uint32_t i = 0; i < 8; ++i) {
    Graph& graph = graphs[(id * 2654435761u + i) % kGraphs];
    uint32_t owner = graph.id.load(std::memory_order_relaxed);
    if (owner == 0 && may_add && graph.id.compare_exchange_strong(owner, id, std::memory_order_relaxed)) {
      graph_count.fetch_add(1, std::memory_order_relaxed);
      return &graph;
    }
    if (owner == id) return &graph;
  }
  return nullptr;
}

uint64_t NodesOf(uint32_t id) {
  if (const Graph* graph = id != 0 ? GraphOf(id, false) : nullptr; graph != nullptr) {
    return graph->nodes.load(std::memory_order_relaxed);
  }
  const uint64_t count = graph_count.load(std::memory_order_relaxed);
  return count == 0 ? 0 : node_count.load(std::memory_order_relaxed) / count;
}

void SayDecision(bool is_affordable, uint64_t per_second) {
  Message message;
  if (per_second == 0) {
    message << "CUDA graphs are recorded as a whole: CUPTI does not report their node count";
  } else if (is_affordable) {
    message << "CUDA graphs are recorded node by node from here on: they run about " << per_second
            << " nodes per second";
  } else {
    message << "CUDA graphs are recorded as a whole: they run about " << per_second
            << " nodes per second, and recording each "
               "would cost about 0.4 microseconds of GPU time per node (measured on an H200); --cuda-graph-trace node "
               "forces it";
  }
  Say(trace::NoticeLevel::kInfo, message);
}

}  // namespace

void CountGraphNode(uint32_t id) {
  node_count.fetch_add(1, std::memory_order_relaxed);
  Graph* graph = id != 0 ? GraphOf(id, true) : nullptr;
  if (graph != nullptr) graph->nodes.fetch_add(1, std::memory_order_relaxed);
}

void CountGraphLaunch(uint32_t graph, uint64_t start_ns, uint64_t end_ns) {
  if (start_ns == 0) return;
  const uint64_t first = first_ns.load(std::memory_order_relaxed);
  if (first == 0 || start_ns < first) first_ns.store(start_ns, std::memory_order_relaxed);
  if (end_ns > last_ns.load(std::memory_order_relaxed)) last_ns.store(end_ns, std::memory_order_relaxed);
  nodes_run.fetch_add(NodesOf(graph), std::memory_order_relaxed);
  launches.fetch_add(1, std::memory_order_release);
}

void NoteDevice(uint32_t device) {
  uint32_t first = 0;
  if (first_device.compare_exchange_strong(first, device + 1, std::memory_order_relaxed) || first == device + 1) return;
  if (Config().graph_mode != GraphMode::kAuto || is_decided.exchange(true)) return;
  RecordGraphNodes();
  Message message;
  message << "CUDA graphs are recorded node by node, because the program uses several GPUs: CUPTI does not time all of "
             "their graphs as a whole";
  Say(trace::NoticeLevel::kInfo, message);
}

void NoteConditionalNode() {
  if (!Config().wants_cuda || has_conditional_node.exchange(true)) return;
  Message message;
  if (!GraphsAsAWhole()) {
    message << "CUPTI does not say which launch of a CUDA graph ran the kernels in its conditional nodes; reports "
               "work it out from the order in time where that is certain. --cuda-graph-trace graph records each launch "
               "as a whole";
  } else if (Config().graph_mode == GraphMode::kAuto) {
    message << "CUDA graphs are recorded as a whole, because the program creates conditional nodes: CUPTI does not say "
               "which launch ran the kernels in them; --cuda-graph-trace node records them nevertheless";
  } else {
    return;
  }
  Say(trace::NoticeLevel::kInfo, message);
}

void DecideGraphLevel() {
  if (has_conditional_node.load(std::memory_order_relaxed)) return;
  if (is_decided.load(std::memory_order_relaxed) || Config().graph_mode != GraphMode::kAuto) return;
  const uint64_t count = launches.load(std::memory_order_acquire);
  const uint64_t span_ns = last_ns.load(std::memory_order_relaxed) - first_ns.load(std::memory_order_relaxed);
  if (count == 0 || (count < kEnoughLaunches && span_ns < kEnoughNs)) return;
  if (is_decided.exchange(true)) return;
  constexpr uint64_t kShortestNs = 1000000;
  const uint64_t nodes = nodes_run.load(std::memory_order_relaxed);
  const double seconds = static_cast<double>(std::max(span_ns, kShortestNs)) * 1e-9;
  const auto per_second = static_cast<uint64_t>(static_cast<double>(nodes) / seconds) + 1;
  const bool is_affordable = nodes != 0 && per_second <= kAffordablePerSecond;
  if (is_affordable) RecordGraphNodes();
  SayDecision(is_affordable, nodes == 0 ? 0 : per_second);
}

}  // namespace gprof::tracer
