// What passes between the doubles of libcuda, libcudart and libcupti. The real ones use private export tables for this;
// ours use one of their own, under an id that no real library knows.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "violation.h"

namespace mock {

inline constexpr CUuuid kHubId = {{'g', 'p', 'r', 'o', 'f', '-', 'm', 'o', 'c', 'k', '-', 'h', 'u', 'b', '0', '1'}};

enum Domain : uint32_t { kDriver = 1, kRuntime = 2, kResource = 3, kSynchronize = 4, kState = 6 };

// An API call under way; lives on the stack of the call.
struct Frame {
  Frame* outer;
  uint32_t domain, cbid;
  const char* function;
  const void* params;
  const char* symbol;
  uint32_t correlation;
  uint64_t correlation_data;
  uint64_t start_ns;
  bool is_reported;
  uint32_t kernel_switches;  // before it began
};

enum class OpKind : uint8_t { kKernel, kMemcpy, kPeerCopy, kMemset, kGraph, kAllocate, kFree, kPool, kManaged };

struct Dim {
  uint32_t x, y, z;
};

// Something that the virtual device does; its times are known when it is enqueued.
struct Op {
  OpKind kind = OpKind::kKernel;
  uint64_t start_ns = 0, end_ns = 0;
  uint32_t device = 0, context = 0, stream = 0, correlation = 0;
  uint64_t bytes = 0;
  uint8_t copy_kind = 0, source_memory = 0, destination_memory = 0;
  bool is_async = false;
  uint32_t peer_source_device = 0, peer_source_context = 0, peer_destination_device = 0, peer_destination_context = 0;
  uint32_t value = 0;
  const char* name = nullptr;
  Dim grid = {0, 0, 0}, block = {0, 0, 0};
  uint32_t dynamic_shared_bytes = 0;
  uint32_t graph = 0;
  uint64_t graph_node = 0;
  bool is_in_body = false;  // of a conditional node
  uint64_t address = 0;
  // The pool of an allocation, or what happens to the pool (CUpti_ActivityMemoryPoolOperationType).
  uint64_t pool = 0, pool_bytes = 0, pool_used_bytes = 0, pool_threshold_bytes = 0, pool_keep_bytes = 0;
  uint32_t pool_operation = 0;
  // CUpti_ActivityUnifiedMemoryCounterKind, and its flags; from where to where in devices, ~0 for the host.
  uint32_t managed_kind = 0, managed_flags = 0, managed_source = 0, managed_destination = 0;
};

struct SyncInfo {
  uint32_t type = 0;  // CUpti_ActivitySynchronizationType
  uint64_t start_ns = 0, end_ns = 0;
  uint32_t context = 0, stream = 0, event = 0, correlation = 0, result = 0;
};

struct ContextInfo {
  CUcontext handle;
  uint32_t id, device, null_stream;
};

struct StreamInfo {
  CUcontext context_handle;
  CUstream handle;
  uint32_t id, context, flags;
  int32_t priority;
};

// A node of a graph was made, as a clone of `original` if there is one.
struct NodeInfo {
  CUgraph graph;
  CUgraphNode node, original;
  CUgraphNodeType type;
};

// What is wanted of a call: asked once where it is entered and once where it is left, as the answer may change
// meanwhile.
struct ApiWish {
  bool callback, record;
};

// What libcupti installs to hear of everything. None of these is called after Detach.
struct Observer {
  ApiWish (*wants_api)(uint32_t domain, uint32_t cbid);
  uint32_t (*next_correlation)();
  void (*api)(Frame* frame, bool is_exit, ApiWish wish, void* return_value, uint32_t result);
  void (*init_finished)();
  void (*context)(const ContextInfo& info, bool is_created);
  void (*stream)(const StreamInfo& info, bool is_created, uint32_t correlation);
  void (*module)(CUcontext context, uint32_t id, const void* image, uint64_t bytes, bool is_loaded, bool is_jit,
                 uint64_t start_ns, uint64_t end_ns, uint32_t correlation);
  void (*graph_exec)(CUcontext context, CUgraph graph, CUgraphExec exec, bool is_created);
  void (*graph_node)(CUcontext context, const NodeInfo& info);
  void (*op)(const Op& op);
  void (*sync)(const SyncInfo& info);
  bool (*wants_graph_nodes)();    // false: one operation for a whole graph launch
  uint32_t (*kernel_switches)();  // how often the kind for kernels was enabled or disabled as a whole
};

struct DeviceFacts {
  const char* name;
  CUuuid uuid;
  uint32_t major, minor, sm_count, clock_khz, memory_clock_khz, bus_bits;
  uint64_t memory_bytes, l2_bytes;
};

// What libcuda offers to the other two.
struct Hub {
  uint32_t size;
  int driver_version;
  // One libcupti at a time: false when another copy of it is there. Null detaches.
  bool (*attach)(const Observer* observer);
  void (*enter)(Frame* frame);
  void (*exit)(Frame* frame, void* return_value, uint32_t result);
  bool (*is_torn_down)();
  bool (*is_initialized)();
  int (*device_count)();
  DeviceFacts (*device)(int ordinal);
  CUcontext (*current_context)();
  bool (*context_info)(CUcontext context, ContextInfo* info);
  bool (*stream_info)(CUcontext context, CUstream stream, StreamInfo* info);
  void (*graph_ids)(CUgraph graph, CUgraphExec exec, CUgraphNode node, uint32_t* graph_id, uint64_t* node_id);
  // > 0 while the thread is inside a callback of a tool, where most CUDA calls are forbidden.
  int* (*callback_depth)();
};

}  // namespace mock
