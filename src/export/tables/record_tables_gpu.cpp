// Tables of what ran on the GPUs.
#include "analysis/facts/calls/call_kinds.h"
#include "analysis/facts/operations/operations.h"
#include "analysis/result/display_names.h"
#include "export/tables/list_tables.h"
#include "export/tables/record_rows.h"

namespace gprof {
namespace {

// clang-format off
constexpr std::string_view kKernelColumns[] = {
    "start_ns", "duration_ns", "pid", "device", "context", "stream", "name", "short_name", "mangled_name", "grid_x", "grid_y",
    "grid_z", "block_x", "block_y", "block_z", "cluster_x", "cluster_y", "cluster_z", "registers_per_thread",
    "static_shared_bytes", "dynamic_shared_bytes", "local_bytes_per_thread", "local_bytes_total", "shared_carveout_bytes",
    "graph", "graph_node", "correlation", "function", "call_start_ns", "call_tid", "nvtx_path"};
// clang-format on

constexpr std::string_view kMemcpyColumns[] = {
    "start_ns",   "duration_ns", "pid",         "device",        "context",
    "stream",     "direction",   "size_bytes",  "source_memory", "destination_memory",
    "is_async",   "is_pageable", "peer_device", "is_from_peer",  "graph",
    "graph_node", "correlation", "function",    "call_start_ns", "call_tid",
    "nvtx_path"};

constexpr std::string_view kMemsetColumns[] = {
    "start_ns", "duration_ns", "pid",        "device",      "context",  "stream",        "size_bytes", "memory",
    "is_async", "graph",       "graph_node", "correlation", "function", "call_start_ns", "call_tid",   "nvtx_path"};

constexpr std::string_view kGraphLaunchColumns[] = {
    "start_ns",   "duration_ns", "pid",      "device",        "context",  "stream",   "graph",
    "graph_node", "correlation", "function", "call_start_ns", "call_tid", "nvtx_path"};

constexpr std::string_view kManagedKinds[] = {"not known",       "host to device", "device to host",
                                              "CPU page faults", "GPU page fault", "thrashing",
                                              "throttling",      "remote map",     "device to device"};
constexpr FieldColumn kManagedMemoryColumns[] = {{"start_ns"},
                                                 {"duration_ns"},
                                                 {"pid"},
                                                 {"source_device", "source"},
                                                 {"destination_device", "destination"},
                                                 {"stream"},
                                                 {"managed_kind", "kind", kManagedKinds},
                                                 {"value"},
                                                 {"address"},
                                                 {"flags"}};

void AddPlace(const Trace& trace, const GpuOp& op, RowWriter& row) {
  row.Integer(op.start_ns);
  row.Integer(op.DurationNs());
  AddPid(trace, op.process, row);
  AddDevice(trace, op.device, row);
  if (op.stream == kNone) {
    row.Nothing();
  } else {
    row.Unsigned(trace.streams[op.stream].context);
  }
  AddStream(trace, op.stream, row);
}

void AddLaunch(const RecordContext& context, const GpuOp& op, RowWriter& row) {
  const Trace& trace = context.trace();
  AddUnlessZero(op.graph, row);
  AddUnlessZero(op.graph_node, row);
  const uint32_t call = OutermostCall(trace, op.api);
  if (call == kNone) {
    row.Unsigned(op.correlation);
    for (int i = 0; i < 4; ++i) row.Nothing();
    return;
  }
  AddCorrelation(trace, call, row);
  AddFunction(context, call, row);
  row.Integer(trace.api_calls[call].start_ns);
  AddTid(trace, trace.api_calls[call].thread, row);
  row.Text(context.Clean(PathOfCall(trace, call)));
}

void WriteKernels(RecordContext& context, RowWriter& row) {
  static const trace::KernelShapeRecord kNoShape;
  for (const GpuOp& op : context.trace().ops) {
    context.progress().Add();
    if (op.kind != OpKind::kKernel) continue;
    const trace::KernelShapeRecord& s = op.shape == kNone ? kNoShape : context.trace().shapes[op.shape];
    AddPlace(context.trace(), op, row);
    row.Text(context.KernelName(op.name));
    row.Text(context.ShortKernelName(op.name));
    row.Text(context.Clean(op.name));
    for (const uint64_t value :
         {uint64_t{s.grid_x}, uint64_t{s.grid_y}, uint64_t{s.grid_z}, uint64_t{s.block_x}, uint64_t{s.block_y},
          uint64_t{s.block_z}, uint64_t{s.cluster_x}, uint64_t{s.cluster_y}, uint64_t{s.cluster_z},
          uint64_t{s.registers_per_thread}, uint64_t{s.static_shared_bytes}, uint64_t{s.dynamic_shared_bytes},
          uint64_t{s.local_bytes_per_thread}, s.local_bytes_total, uint64_t{s.shared_carveout_bytes}}) {
      row.Unsigned(value);
    }
    AddLaunch(context, op, row);
    row.EndRow();
  }
}

void WriteCopies(RecordContext& context, RowWriter& row) {
  for (const GpuOp& op : context.trace().ops) {
    context.progress().Add();
    if (!op.IsCopy()) continue;
    AddPlace(context.trace(), op, row);
    row.Text(DirectionName(DirectionOf(op)));
    row.Unsigned(op.size_bytes);
    row.Text(MemoryName(op.source_memory));
    row.Text(MemoryName(op.destination_memory));
    row.Truth(op.is_async);
    row.Truth(op.IsPageable());
    AddDevice(context.trace(), op.peer_device, row);
    if (op.kind == OpKind::kPeerCopy) {
      row.Truth(op.is_from_peer);
    } else {
      row.Nothing();
    }
    AddLaunch(context, op, row);
    row.EndRow();
  }
}

void WriteMemsets(RecordContext& context, RowWriter& row) {
  for (const GpuOp& op : context.trace().ops) {
    context.progress().Add();
    if (op.kind != OpKind::kMemset) continue;
    AddPlace(context.trace(), op, row);
    row.Unsigned(op.size_bytes);
    row.Text(MemoryName(op.destination_memory));
    row.Truth(op.is_async);
    AddLaunch(context, op, row);
    row.EndRow();
  }
}

void WriteGraphLaunches(RecordContext& context, RowWriter& row) {
  for (const GpuOp& op : context.trace().ops) {
    context.progress().Add();
    if (op.kind != OpKind::kGraph) continue;
    AddPlace(context.trace(), op, row);
    AddLaunch(context, op, row);
    row.EndRow();
  }
}

}  // namespace

const RecordTable kKernelTable{"kernel", "kernels and their launch calls", kKernelColumns, WriteKernels};
const RecordTable kMemcpyTable{"memcpy", "memory copies, including peer-to-peer", kMemcpyColumns, WriteCopies};
const RecordTable kMemsetTable{"memset", "memsets", kMemsetColumns, WriteMemsets};
const RecordTable kGraphLaunchTable{"graph_launch", "CUDA graphs recorded as a whole", kGraphLaunchColumns,
                                    WriteGraphLaunches};
const RecordTable kManagedMemoryTable = TableOfList<&Trace::managed_memory, kManagedMemoryColumns>(
    "managed_memory", "migrations and page faults of managed memory");

}  // namespace gprof
