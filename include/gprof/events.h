// GPU operations, calls of the CUDA API and NVTX ranges as everybody reads them. Trace keeps them packed
// (gprof/packed.h, gprof/packed_ranges.h) and hands them out by value.
#pragma once

#include <cstdint>

#include "gprof/fields.h"
#include "gprof/trace/record.h"

namespace gprof {

inline constexpr uint32_t kNone = 0xFFFFFFFFu;

// Index into Trace::strings; names of all processes share one table.
struct NameId {
  uint32_t value = 0;
  friend bool operator==(NameId a, NameId b) { return a.value == b.value; }
  friend bool operator!=(NameId a, NameId b) { return a.value != b.value; }
  friend bool operator<(NameId a, NameId b) { return a.value < b.value; }
};

enum class OpKind : uint8_t { kKernel, kMemcpy, kPeerCopy, kMemset, kGraph };

// Something that ran on a GPU.
struct GpuOp {
  int64_t start_ns = 0, end_ns = 0;
  uint64_t size_bytes = 0;  // copies and memsets
  uint64_t graph_node = 0;
  uint32_t graph = 0;
  uint32_t device = kNone;  // index into devices
  uint32_t stream = kNone;  // index into streams
  uint32_t process = kNone;
  uint32_t api = kNone;      // the launching call
  uint32_t correlation = 0;  // of a call that is not known; where it is, see Trace::CorrelationOf
  NameId name;               // kernels: mangled name
  uint32_t shape = kNone;    // kernels: index into shapes
  OpKind kind = OpKind::kKernel;
  trace::CopyKind copy_kind = trace::CopyKind::kUnknown;
  trace::MemoryKind source_memory = trace::MemoryKind::kUnknown;
  trace::MemoryKind destination_memory = trace::MemoryKind::kUnknown;  // memsets: the memory filled
  uint32_t peer_device = kNone;                                        // peer copies: the other device
  uint32_t node = kNone;  // index into graph_nodes: the node that the program made, clones are followed back
  bool is_async = false;
  bool is_from_before = false;  // launched before the capture that it ran in: its call was not recorded
  bool is_from_peer = false;    // peer copies: peer_device is the source; otherwise it is the destination
  int64_t DurationNs() const { return end_ns - start_ns; }
  bool IsCopy() const { return kind == OpKind::kMemcpy || kind == OpKind::kPeerCopy; }
  // Of peer copies.
  uint32_t SourceDevice() const { return is_from_peer ? peer_device : device; }
  uint32_t DestinationDevice() const { return is_from_peer ? device : peer_device; }
  bool IsPageable() const {
    return kind == OpKind::kMemcpy &&
           (source_memory == trace::MemoryKind::kPageable || destination_memory == trace::MemoryKind::kPageable);
  }
  template <class M, class V>
  static constexpr void Fields(M& m, V&& v) {
    v(FieldOf{"start_ns", Role::kStart}, m.start_ns);
    v(FieldOf{"end_ns", Role::kEnd}, m.end_ns);
    v(FieldOf{"size_bytes"}, m.size_bytes);
    v(FieldOf{"graph_node"}, m.graph_node);
    v(FieldOf{"graph"}, m.graph);
    v(FieldOf{"device", Role::kDevice}, m.device);
    v(FieldOf{"stream", Role::kStream}, m.stream);
    v(FieldOf{"process", Role::kProcess}, m.process);
    v(FieldOf{"api", Role::kCall}, m.api);
    v(FieldOf{"correlation"}, m.correlation);
    v(FieldOf{"name"}, m.name);
    v(FieldOf{"shape", Role::kShape}, m.shape);
    v(FieldOf{"kind"}, m.kind);
    v(FieldOf{"copy_kind"}, m.copy_kind);
    v(FieldOf{"source_memory"}, m.source_memory);
    v(FieldOf{"destination_memory"}, m.destination_memory);
    v(FieldOf{"peer_device", Role::kDevice}, m.peer_device);
    v(FieldOf{"node", Role::kGraphNode}, m.node);
    v(FieldOf{"is_async"}, m.is_async);
    v(FieldOf{"is_from_before"}, m.is_from_before);
    v(FieldOf{"is_from_peer"}, m.is_from_peer);
  }
};

// What a call is for; decides which cause of idle it stands for.
enum class ApiClass : uint8_t {
  kOther,
  kLaunch,
  kCopy,
  kMemset,
  kSync,
  kMemory,
  kLoad,
  kQuery,
  kStream,
  kEvent,
  kGraphLaunch
};

// Of a kernel or of a graph.
inline bool IsLaunch(ApiClass api_class) {
  return api_class == ApiClass::kLaunch || api_class == ApiClass::kGraphLaunch;
}

struct ApiCall {
  int64_t start_ns = 0, end_ns = 0;
  uint32_t thread = kNone;
  uint32_t process = kNone;
  uint32_t correlation = 0;
  uint32_t parent = kNone;  // the API call that made this one (a driver call within a runtime call); of one
                            // that is hundreds deep a call further out
  uint32_t range = kNone;   // innermost push/pop NVTX range of its thread at entry
  NameId function;
  int32_t result = 0;
  uint32_t op_count = 0;  // GPU operations it launched
  ApiClass api_class = ApiClass::kOther;
  trace::ApiDomain domain = trace::ApiDomain::kRuntime;
  bool is_unfinished = false;  // the process ended inside it
  uint32_t stack = kNone;      // of the caller, index into stacks
  int64_t DurationNs() const { return end_ns - start_ns; }
  template <class M, class V>
  static constexpr void Fields(M& m, V&& v) {
    v(FieldOf{"start_ns", Role::kStart}, m.start_ns);
    v(FieldOf{"end_ns", Role::kEnd}, m.end_ns);
    v(FieldOf{"thread", Role::kThread}, m.thread);
    v(FieldOf{"process", Role::kProcess}, m.process);
    v(FieldOf{"correlation"}, m.correlation);
    v(FieldOf{"parent", Role::kCall}, m.parent);
    v(FieldOf{"range", Role::kRange}, m.range);
    v(FieldOf{"function"}, m.function);
    v(FieldOf{"result"}, m.result);
    v(FieldOf{"op_count"}, m.op_count);
    v(FieldOf{"api_class"}, m.api_class);
    v(FieldOf{"domain"}, m.domain);
    v(FieldOf{"is_unfinished"}, m.is_unfinished);
    v(FieldOf{"stack", Role::kStack}, m.stack);
  }
};

struct NvtxRange {
  int64_t start_ns = 0, end_ns = 0;
  uint32_t thread = kNone;  // that opened it
  uint32_t end_thread = kNone;
  uint32_t parent = kNone;  // enclosing push/pop range of the same thread, whatever its domain
  uint32_t domain = kNone;  // index into domains
  NameId name;
  NameId path;  // "domain/outer/inner"; the default domain has no name in it
  uint32_t category = 0, color = 0;
  uint64_t payload = 0;
  trace::PayloadType payload_type = trace::PayloadType::kNone;
  uint16_t depth = 0;       // 0 is outermost
  bool is_push_pop = true;  // false: start/end, which need not nest
  bool is_open = false;     // never ended; end_ns is the end of its process
  bool is_cut = false;      // it went on after the capture that it began in; end_ns is the end of that capture
  int64_t DurationNs() const { return end_ns - start_ns; }
  template <class M, class V>
  static constexpr void Fields(M& m, V&& v) {
    v(FieldOf{"start_ns", Role::kStart}, m.start_ns);
    v(FieldOf{"end_ns", Role::kEnd}, m.end_ns);
    v(FieldOf{"thread", Role::kThread}, m.thread);
    v(FieldOf{"end_thread", Role::kThread}, m.end_thread);
    v(FieldOf{"parent", Role::kRange}, m.parent);
    v(FieldOf{"domain", Role::kDomain}, m.domain);
    v(FieldOf{"name"}, m.name);
    v(FieldOf{"path"}, m.path);
    v(FieldOf{"category"}, m.category);
    v(FieldOf{"color"}, m.color);
    v(FieldOf{"payload"}, m.payload);
    v(FieldOf{"payload_type"}, m.payload_type);
    v(FieldOf{"depth"}, m.depth);
    v(FieldOf{"is_push_pop"}, m.is_push_pop);
    v(FieldOf{"is_open"}, m.is_open);
    v(FieldOf{"is_cut"}, m.is_cut);
  }
};

}  // namespace gprof
