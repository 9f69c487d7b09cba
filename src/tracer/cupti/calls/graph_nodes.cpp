#include "tracer/cupti/calls/graph_nodes.h"

#include "tracer/cupti/calls/api_rows.h"
#include "tracer/cupti/calls/graph_level.h"
#include "tracer/places/place_collector.h"
#include "tracer/store/caller_stack.h"
#include "tracer/store/clock.h"
#include "tracer/store/thread_log.h"

namespace gprof::tracer {
namespace {

constexpr CUpti_CallbackId kGraphCallbacks[] = {CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED,
                                                CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED};

uint64_t NodeId(CUgraphNode node) {
  uint64_t id = 0;
  if (node == nullptr || Cupti().cuptiGetGraphNodeId(node, &id) != CUPTI_SUCCESS) return 0;
  return id;
}

uint32_t GraphId(CUgraph graph) {
  uint32_t id = 0;
  if (graph == nullptr || Cupti().cuptiGetGraphId == nullptr) return 0;
  return Cupti().cuptiGetGraphId(graph, &id) == CUPTI_SUCCESS ? id : 0;
}

}  // namespace

void ListenToGraphNodes(CUpti_SubscriberHandle subscriber) {
  if (Cupti().cuptiGetGraphNodeId == nullptr) return;
  for (const CUpti_CallbackId cbid : kGraphCallbacks) {
    Cupti().cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE, cbid);
  }
}

bool IsGraphNodeCallback(CUpti_CallbackId cbid) { return cbid == kGraphCallbacks[0] || cbid == kGraphCallbacks[1]; }

void OnGraphNode(const CUpti_ResourceData& data) {
  if (data.resourceDescriptor == nullptr) return;
  const auto& graph = *static_cast<const CUpti_GraphData*>(data.resourceDescriptor);
  const uint64_t node = NodeId(graph.node);
  ThreadLog* log = node != 0 ? OwnLog() : nullptr;
  if (log == nullptr) return;
  GraphNodeRow row{};
  row.header = RowHeaderOf<GraphNodeRow>(RowType::kGraphNode);
  row.graph = GraphId(graph.graph);
  row.stamp = Stamp();
  row.node = node;
  row.original = NodeId(graph.originalNode);
  row.node_type = static_cast<uint8_t>(graph.nodeType);
  if (row.original != 0) {
    CountGraphNode(row.graph);
  } else {  // a clone is of the code that made the first of them
    row.stack = CallerStack(log);
    row.place = PlaceOfThread(*log);
  }
  Append(log, row);
}

}  // namespace gprof::tracer
