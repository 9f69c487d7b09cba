// The graphs of the libcuda double: lists of nodes that run one after the other.
#include "cuda_call.h"

namespace mock {
namespace {

enum CopyKind : uint8_t { kHostToDevice = 1, kDeviceToHost = 2, kDeviceToDevice = 8 };

void* ToPointer(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

uint64_t DurationOf(const Op& op) {
  return op.kind == OpKind::kKernel ? KernelNs(op.grid) : op.kind == OpKind::kMemcpy ? CopyNs(op) : MemsetNs(op.bytes);
}

void ReportNode(const NodeInfo& info) {
  const Observer* o = TheObserver();
  if (o == nullptr) return;
  CallbackScope scope;
  o->graph_node(CurrentContext(), info);
}

CUgraphNode AddNode(CUgraph graph, CUgraphNodeType type, const Op& op) {
  auto* node = new CUgraphNode_st;
  graph->nodes.push_back(node);
  node->type = type;
  node->op = op;
  node->id = static_cast<uint64_t>(graph->id) << 32 | graph->nodes.size();
  ReportNode({graph, node, nullptr, type});
  return node;
}

// As libcupti 13.0 has it: what is in the body of a conditional node runs as nodes of the executable graph that no
// callback tells of.
void AddBody(CUgraphExec exec, CUgraph body) {
  for (const CUgraphNode node : body->nodes) {
    exec->nodes.push_back(*node);
    exec->nodes.back().id = static_cast<uint64_t>(exec->id) << 32 | exec->nodes.size();
    exec->nodes.back().op.is_in_body = true;
  }
}

void Instantiate(CUgraphExec exec, CUgraph graph) {
  exec->id = exec->clone.id = TheModel().next_graph++;
  const Observer* o = TheObserver();
  exec->is_traced_whole = o != nullptr && !o->wants_graph_nodes();
  for (const CUgraphNode node : graph->nodes) {
    exec->nodes.push_back(*node);
    exec->nodes.back().id = static_cast<uint64_t>(exec->id) << 32 | exec->nodes.size();
  }
  for (size_t i = 0; i < exec->nodes.size(); ++i) {
    ReportNode({&exec->clone, &exec->nodes[i], graph->nodes[i], exec->nodes[i].type});
  }
  for (const CUgraphNode node : graph->nodes) {
    if (node->body != nullptr) AddBody(exec, node->body);
  }
}

void LaunchNodes(CUgraphExec exec, CUstream stream) {
  for (const CUgraphNode_st& node : exec->nodes) {
    if (node.body != nullptr) continue;
    Op op = node.op;
    op.graph = exec->id;
    op.graph_node = node.id;
    Enqueue(op, stream, DurationOf(op));
  }
}

void LaunchWhole(CUgraphExec exec, CUstream stream, bool has_tool) {
  // Seen on an H200: enabling GRAPH_TRACE late is the death of a program that launches what it has.
  if (has_tool && !exec->is_traced_whole) {
    Violation("a graph that was instantiated without GRAPH_TRACE is launched with it: libcupti 13.0 crashes");
  }
  Op op;
  op.kind = OpKind::kGraph;
  op.graph = exec->id;
  uint64_t duration_ns = 0;
  for (const CUgraphNode_st& node : exec->nodes) duration_ns += node.body == nullptr ? DurationOf(node.op) : 0;
  Enqueue(op, stream, duration_ns);
}

}  // namespace
}  // namespace mock

using namespace mock;  // NOLINT: the functions below are C symbols in the global namespace

extern "C" {

CUresult cuGraphCreate(CUgraph* graph, unsigned int flags) {
  cuGraphCreate_params p{graph, flags};
  return Call(Use::kWork, MOCK_DRIVER_ID(cuGraphCreate), &p, [&] {
    *graph = new CUgraph_st;
    (*graph)->id = TheModel().next_graph++;
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphDestroy(CUgraph graph) {
  cuGraphDestroy_params p{graph};
  return Call(Use::kWork, MOCK_DRIVER_ID(cuGraphDestroy), &p, [&] {
    for (CUgraphNode node : graph->nodes) delete node;
    delete graph;
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphAddKernelNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                              const CUDA_KERNEL_NODE_PARAMS* params) {
  cuGraphAddKernelNode_v2_params p{node, graph, dependencies, count, params};
  return CallInContext(Use::kWork, MOCK_DRIVER_ID(cuGraphAddKernelNode_v2), &p, [&] {
    Op op;
    op.name = params->func->name.c_str();
    op.grid = {params->gridDimX, params->gridDimY, params->gridDimZ};
    op.block = {params->blockDimX, params->blockDimY, params->blockDimZ};
    op.is_async = true;
    *node = AddNode(graph, CU_GRAPH_NODE_TYPE_KERNEL, op);
    (*node)->function = params->func;
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphAddMemsetNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                              const CUDA_MEMSET_NODE_PARAMS* params, CUcontext context) {
  cuGraphAddMemsetNode_params p{node, graph, dependencies, count, params, context};
  return CallInContext(Use::kWork, MOCK_DRIVER_ID(cuGraphAddMemsetNode), &p, [&] {
    // Fills in a graph report neither value nor memory kind: measured on real hardware.
    Op op;
    op.kind = OpKind::kMemset;
    op.bytes = params->width * params->elementSize;
    op.is_async = true;
    *node = AddNode(graph, CU_GRAPH_NODE_TYPE_MEMSET, op);
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphAddMemcpyNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                              const CUDA_MEMCPY3D* params, CUcontext context) {
  cuGraphAddMemcpyNode_params p{node, graph, dependencies, count, params, context};
  return CallInContext(Use::kWork, MOCK_DRIVER_ID(cuGraphAddMemcpyNode), &p, [&] {
    Op op;
    op.kind = OpKind::kMemcpy;
    op.bytes = params->WidthInBytes;
    op.is_async = true;
    const bool from_host = params->srcMemoryType == CU_MEMORYTYPE_HOST;
    const bool to_host = params->dstMemoryType == CU_MEMORYTYPE_HOST;
    op.copy_kind = from_host ? kHostToDevice : to_host ? kDeviceToHost : kDeviceToDevice;
    op.source_memory = FindBlock(from_host ? params->srcHost : ToPointer(params->srcDevice)).kind;
    op.destination_memory = FindBlock(to_host ? params->dstHost : ToPointer(params->dstDevice)).kind;
    *node = AddNode(graph, CU_GRAPH_NODE_TYPE_MEMCPY, op);
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphConditionalHandleCreate(CUgraphConditionalHandle* handle, CUgraph graph, CUcontext context,
                                        unsigned int value, unsigned int flags) {
  cuGraphConditionalHandleCreate_params p{handle, graph, context, value, flags};
  return CallInContext(Use::kWork, MOCK_DRIVER_ID(cuGraphConditionalHandleCreate), &p, [&] {
    *handle = graph->id;
    return CUDA_SUCCESS;
  });
}

// Conditional nodes only; their condition is always met.
CUresult cuGraphAddNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, const CUgraphEdgeData* edges,
                        size_t count, CUgraphNodeParams* params) {
  cuGraphAddNode_v2_params p{node, graph, dependencies, edges, count, params};
  return CallInContext(Use::kWork, MOCK_DRIVER_ID(cuGraphAddNode_v2), &p, [&] {
    if (params->type != CU_GRAPH_NODE_TYPE_CONDITIONAL) return CUDA_ERROR_NOT_SUPPORTED;
    *node = AddNode(graph, CU_GRAPH_NODE_TYPE_KERNEL, {});  // so libcupti 13.0 calls it
    (*node)->body = new CUgraph_st;
    (*node)->body->id = TheModel().next_graph++;
    params->conditional.phGraph_out = &(*node)->body;
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphInstantiate(CUgraphExec* exec, CUgraph graph, unsigned long long flags) {
  cuGraphInstantiateWithFlags_params p{exec, graph, flags};
  return CallInContext(Use::kWork, MOCK_DRIVER_ID(cuGraphInstantiateWithFlags), &p, [&] {
    *exec = new CUgraphExec_st;
    Instantiate(*exec, graph);
    if (const Observer* o = TheObserver()) {
      CallbackScope scope;
      o->graph_exec(CurrentContext(), graph, *exec, true);
    }
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphExecDestroy(CUgraphExec exec) {
  cuGraphExecDestroy_params p{exec};
  return CallInContext(Use::kWork, MOCK_DRIVER_ID(cuGraphExecDestroy), &p, [&] {
    if (const Observer* o = TheObserver()) {
      CallbackScope scope;
      o->graph_exec(CurrentContext(), nullptr, exec, false);
    }
    delete exec;
    return CUDA_SUCCESS;
  });
}

// What tools ask of a graph, without a callback.
CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode* nodes, size_t* count) {
  for (size_t i = 0; nodes != nullptr && i < graph->nodes.size() && i < *count; ++i) nodes[i] = graph->nodes[i];
  *count = graph->nodes.size();
  return CUDA_SUCCESS;
}

CUresult cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType* type) {
  *type = node->type;
  return CUDA_SUCCESS;
}

CUresult cuGraphKernelNodeGetParams(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS* params) {
  const Op& op = node->op;
  *params = {};
  params->func = node->function;
  params->gridDimX = op.grid.x;
  params->gridDimY = op.grid.y;
  params->gridDimZ = op.grid.z;
  params->blockDimX = op.block.x;
  params->blockDimY = op.block.y;
  params->blockDimZ = op.block.z;
  return CUDA_SUCCESS;
}

CUresult cuFuncGetName(const char** name, CUfunction function) {
  *name = function->name.c_str();
  return CUDA_SUCCESS;
}

CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction) {
  *value = attribute == CU_FUNC_ATTRIBUTE_NUM_REGS ? 32 : attribute == CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES ? 1024 : 0;
  return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction, int block_size, size_t) {
  *blocks = 2048 / block_size;
  return CUDA_SUCCESS;
}

CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) {
  cuGraphLaunch_params p{exec, stream};
  return CallInContext(Use::kWork, MOCK_DRIVER_ID(cuGraphLaunch), &p, [&] {
    const Observer* o = TheObserver();
    if (o != nullptr && o->wants_graph_nodes())
      LaunchNodes(exec, ResolveStream(stream));
    else
      LaunchWhole(exec, ResolveStream(stream), o != nullptr);
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
