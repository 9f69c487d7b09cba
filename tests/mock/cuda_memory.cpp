// Memory, copies, fills and graphs of the libcuda double. Device memory is host memory, so copies really copy.
#include <cstdlib>

#include "cuda_call.h"

namespace mock {
namespace {

constexpr size_t kMaxAllocationBytes = 64ull << 30;
enum MemoryKind : uint8_t { kPageable = 1, kPinned = 2, kDeviceMemory = 3, kManaged = 5 };
enum CopyKind : uint8_t { kHostToDevice = 1, kDeviceToHost = 2, kDeviceToDevice = 8, kPeerToPeer = 10 };

void* ToPointer(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

void Report(OpKind kind, const void* address, Block block, CUstream stream) {
  const Observer* o = TheObserver();
  if (o == nullptr) return;
  Op op;
  op.kind = kind;
  op.start_ns = op.end_ns = NowNs();
  op.device = CurrentContext()->device;
  op.context = CurrentContext()->id;
  op.stream = stream != nullptr ? stream->id : 0;
  op.is_async = stream != nullptr;
  op.correlation = CurrentCorrelation();
  op.bytes = block.size;
  op.source_memory = block.kind;
  op.address = reinterpret_cast<uintptr_t>(address);
  o->op(op);
}

CUresult Allocate(void** out, size_t bytes, uint8_t kind, CUstream stream = nullptr) {
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  if (bytes > kMaxAllocationBytes) return CUDA_ERROR_OUT_OF_MEMORY;
  *out = std::malloc(bytes);
  if (*out == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  const Block block{bytes, kind, CurrentContext()->device};
  AddBlock(*out, block);
  Report(OpKind::kAllocate, *out, block, stream);
  return CUDA_SUCCESS;
}

CUresult Release(void* address, CUstream stream = nullptr) {
  const Block block = FindBlock(address);
  if (!RemoveBlock(address)) return CUDA_ERROR_INVALID_VALUE;
  Report(OpKind::kFree, address, block, stream);
  std::free(address);
  return CUDA_SUCCESS;
}

CUresult Copy(void* to, const void* from, size_t bytes, uint8_t copy_kind, bool is_async, CUstream stream) {
  if (to == nullptr || from == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Op op;
  op.kind = OpKind::kMemcpy;
  op.bytes = bytes;
  op.copy_kind = copy_kind;
  op.source_memory = FindBlock(from).kind;
  op.destination_memory = FindBlock(to).kind;
  op.is_async = is_async;
  std::memmove(to, from, bytes);
  const uint64_t end_ns = Enqueue(op, ResolveStream(stream), CopyNs(op));
  // Pageable memory is staged, so the host waits even in an asynchronous copy.
  const bool is_pageable = op.source_memory == kPageable || op.destination_memory == kPageable;
  if (!is_async || is_pageable) WaitUntilNs(end_ns);
  return CUDA_SUCCESS;
}

CUresult CopyPeer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t bytes,
                  bool is_async, CUstream stream) {
  Op op;
  op.kind = OpKind::kPeerCopy;
  op.bytes = bytes;
  op.copy_kind = kPeerToPeer;
  op.source_memory = FindBlock(ToPointer(from)).kind;
  op.destination_memory = FindBlock(ToPointer(to)).kind;
  op.peer_source_device = from_context->device;
  op.peer_source_context = from_context->id;
  op.peer_destination_device = to_context->device;
  op.peer_destination_context = to_context->id;
  op.is_async = is_async;
  std::memmove(ToPointer(to), ToPointer(from), bytes);
  const uint64_t end_ns = Enqueue(op, ResolveStream(stream), CopyNs(op));
  if (!is_async) WaitUntilNs(end_ns);
  return CUDA_SUCCESS;
}

Op MemsetOp(CUdeviceptr to, uint32_t value, size_t bytes, bool is_async) {
  Op op;
  op.kind = OpKind::kMemset;
  op.bytes = bytes;
  op.value = value;
  op.source_memory = FindBlock(ToPointer(to)).kind;
  op.is_async = is_async;
  return op;
}

CUresult Fill(CUdeviceptr to, unsigned char value, size_t bytes, bool is_async, CUstream stream) {
  if (to == 0) return CUDA_ERROR_INVALID_VALUE;
  const Op op = MemsetOp(to, value, bytes, is_async);
  std::memset(ToPointer(to), value, bytes);
  const uint64_t end_ns = Enqueue(op, ResolveStream(stream), MemsetNs(bytes));
  if (!is_async) WaitUntilNs(end_ns);
  return CUDA_SUCCESS;
}

uint64_t DurationOf(const Op& op) {
  return op.kind == OpKind::kKernel ? KernelNs(op.grid) : op.kind == OpKind::kMemcpy ? CopyNs(op) : MemsetNs(op.bytes);
}

CUgraphNode AddNode(CUgraph graph, CUgraphNodeType type, const Op& op) {
  auto* node = new CUgraphNode_st;
  graph->nodes.push_back(node);
  node->type = type;
  node->op = op;
  node->id = static_cast<uint64_t>(graph->id) << 32 | graph->nodes.size();
  return node;
}

void LaunchNodes(CUgraphExec exec, CUstream stream) {
  for (const CUgraphNode_st& node : exec->nodes) {
    Op op = node.op;
    op.graph = exec->id;
    op.graph_node = node.id;
    Enqueue(op, stream, DurationOf(op));
  }
}

void LaunchWhole(CUgraphExec exec, CUstream stream) {
  Op op;
  op.kind = OpKind::kGraph;
  op.graph = exec->id;
  uint64_t duration_ns = 0;
  for (const CUgraphNode_st& node : exec->nodes) duration_ns += DurationOf(node.op);
  Enqueue(op, stream, duration_ns);
}

}  // namespace
}  // namespace mock

using namespace mock;  // NOLINT: the functions below are C symbols in the global namespace

extern "C" {

CUresult cuMemAlloc(CUdeviceptr* address, size_t bytes) {
  cuMemAlloc_v2_params p{address, bytes};
  return CallInContext(Use::kWork, MOCK_DRIVER_ID(cuMemAlloc_v2), &p,
                       [&] { return Allocate(reinterpret_cast<void**>(address), bytes, kDeviceMemory); });
}

CUresult cuMemFree(CUdeviceptr address) {
  cuMemFree_v2_params p{address};
  return CallInContext(Use::kWork, MOCK_DRIVER_ID(cuMemFree_v2), &p, [&] { return Release(ToPointer(address)); });
}

CUresult cuMemAllocManaged(CUdeviceptr* address, size_t bytes, unsigned int flags) {
  cuMemAllocManaged_params p{address, bytes, flags};
  return CallInContext(Use::kWork, MOCK_DRIVER_ID(cuMemAllocManaged), &p,
                       [&] { return Allocate(reinterpret_cast<void**>(address), bytes, kManaged); });
}

CUresult cuMemAllocAsync(CUdeviceptr* address, size_t bytes, CUstream stream) {
  cuMemAllocAsync_params p{address, bytes, stream};
  return CallInContext(Use::kWork, MOCK_DRIVER_ID(cuMemAllocAsync), &p, [&] {
    return Allocate(reinterpret_cast<void**>(address), bytes, kDeviceMemory, ResolveStream(stream));
  });
}

CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream) {
  cuMemFreeAsync_params p{address, stream};
  return CallInContext(Use::kWork, MOCK_DRIVER_ID(cuMemFreeAsync), &p,
                       [&] { return Release(ToPointer(address), ResolveStream(stream)); });
}

CUresult cuMemHostAlloc(void** address, size_t bytes, unsigned int flags) {
  cuMemHostAlloc_params p{address, bytes, flags};
  return CallInContext(Use::kWork, MOCK_DRIVER_ID(cuMemHostAlloc), &p,
                       [&] { return Allocate(address, bytes, kPinned); });
}

CUresult cuMemFreeHost(void* address) {
  cuMemFreeHost_params p{address};
  return CallInContext(Use::kWork, MOCK_DRIVER_ID(cuMemFreeHost), &p, [&] { return Release(address); });
}

CUresult cuMemHostRegister(void* address, size_t bytes, unsigned int flags) {
  cuMemHostRegister_v2_params p{address, bytes, flags};
  return CallInContext(Use::kWork, MOCK_DRIVER_ID(cuMemHostRegister_v2), &p, [&] {
    AddBlock(address, {bytes, kPinned, CurrentContext()->device});
    return CUDA_SUCCESS;
  });
}

CUresult cuMemHostUnregister(void* address) {
  cuMemHostUnregister_params p{address};
  return CallInContext(Use::kWork, MOCK_DRIVER_ID(cuMemHostUnregister), &p,
                       [&] { return RemoveBlock(address) ? CUDA_SUCCESS : CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED; });
}

CUresult cuMemcpyHtoD(CUdeviceptr to, const void* from, size_t bytes) {
  cuMemcpyHtoD_v2_params p{to, from, bytes};
  return CallInContext(Use::kWork, MOCK_DRIVER_ID(cuMemcpyHtoD_v2), &p,
                       [&] { return Copy(ToPointer(to), from, bytes, kHostToDevice, false, nullptr); });
}

CUresult cuMemcpyDtoH(void* to, CUdeviceptr from, size_t bytes) {
  cuMemcpyDtoH_v2_params p{to, from, bytes};
  return CallInContext(Use::kWork, MOCK_DRIVER_ID(cuMemcpyDtoH_v2), &p,
                       [&] { return Copy(to, ToPointer(from), bytes, kDeviceToHost, false, nullptr); });
}

CUresult cuMemcpyDtoD(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  cuMemcpyDtoD_v2_params p{to, from, bytes};
  return CallInContext(Use::kWork, MOCK_DRIVER_ID(cuMemcpyDtoD_v2), &p,
                       [&] { return Copy(ToPointer(to), ToPointer(from), bytes, kDeviceToDevice, false, nullptr); });
}

CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
  cuMemcpyHtoDAsync_v2_params p{to, from, bytes, stream};
  return CallInContext(Use::kWork, MOCK_DRIVER_ID(cuMemcpyHtoDAsync_v2), &p,
                       [&] { return Copy(ToPointer(to), from, bytes, kHostToDevice, true, stream); });
}

CUresult cuMemcpyDtoHAsync(void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
  cuMemcpyDtoHAsync_v2_params p{to, from, bytes, stream};
  return CallInContext(Use::kWork, MOCK_DRIVER_ID(cuMemcpyDtoHAsync_v2), &p,
                       [&] { return Copy(to, ToPointer(from), bytes, kDeviceToHost, true, stream); });
}

CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  cuMemcpyDtoDAsync_v2_params p{to, from, bytes, stream};
  return CallInContext(Use::kWork, MOCK_DRIVER_ID(cuMemcpyDtoDAsync_v2), &p,
                       [&] { return Copy(ToPointer(to), ToPointer(from), bytes, kDeviceToDevice, true, stream); });
}

CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t bytes) {
  cuMemcpyPeer_params p{to, to_context, from, from_context, bytes};
  return CallInContext(Use::kWork, MOCK_DRIVER_ID(cuMemcpyPeer), &p,
                       [&] { return CopyPeer(to, to_context, from, from_context, bytes, false, nullptr); });
}

CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t bytes,
                           CUstream stream) {
  cuMemcpyPeerAsync_params p{to, to_context, from, from_context, bytes, stream};
  return CallInContext(Use::kWork, MOCK_DRIVER_ID(cuMemcpyPeerAsync), &p,
                       [&] { return CopyPeer(to, to_context, from, from_context, bytes, true, stream); });
}

CUresult cuMemsetD8(CUdeviceptr to, unsigned char value, size_t count) {
  cuMemsetD8_v2_params p{to, value, count};
  return CallInContext(Use::kWork, MOCK_DRIVER_ID(cuMemsetD8_v2), &p,
                       [&] { return Fill(to, value, count, false, nullptr); });
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream) {
  cuMemsetD8Async_params p{to, value, count, stream};
  return CallInContext(Use::kWork, MOCK_DRIVER_ID(cuMemsetD8Async), &p,
                       [&] { return Fill(to, value, count, true, stream); });
}

// ---- graphs: a list of nodes that run one after the other ----

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
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphAddMemsetNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                              const CUDA_MEMSET_NODE_PARAMS* params, CUcontext context) {
  cuGraphAddMemsetNode_params p{node, graph, dependencies, count, params, context};
  return CallInContext(Use::kWork, MOCK_DRIVER_ID(cuGraphAddMemsetNode), &p, [&] {
    // Fills in a graph report neither value nor memory kind: measured on real hardware.
    Op op = MemsetOp(params->dst, 0, params->width * params->elementSize, true);
    op.source_memory = 0;
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

CUresult cuGraphInstantiate(CUgraphExec* exec, CUgraph graph, unsigned long long flags) {
  cuGraphInstantiateWithFlags_params p{exec, graph, flags};
  return CallInContext(Use::kWork, MOCK_DRIVER_ID(cuGraphInstantiateWithFlags), &p, [&] {
    *exec = new CUgraphExec_st;
    (*exec)->id = TheModel().next_graph++;
    for (const CUgraphNode node : graph->nodes) {
      (*exec)->nodes.push_back(*node);
      (*exec)->nodes.back().id = static_cast<uint64_t>((*exec)->id) << 32 | (*exec)->nodes.size();
    }
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

CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) {
  cuGraphLaunch_params p{exec, stream};
  return CallInContext(Use::kWork, MOCK_DRIVER_ID(cuGraphLaunch), &p, [&] {
    const Observer* o = TheObserver();
    if (o != nullptr && o->wants_graph_nodes()) LaunchNodes(exec, ResolveStream(stream));
    else LaunchWhole(exec, ResolveStream(stream));
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
