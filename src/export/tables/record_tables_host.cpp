// Tables of what the host did.
#include "analysis/result/display_names.h"
#include "analysis/result/stack_names.h"
#include "analysis/trust/overhead_kinds.h"
#include "export/tables/record_rows.h"

namespace gprof {
namespace {

constexpr std::string_view kApiColumns[] = {"start_ns",      "duration_ns", "pid",    "tid",      "correlation",
                                            "function",      "domain",      "result", "op_count", "is_nested",
                                            "is_unfinished", "nvtx_path",   "stack"};

constexpr std::string_view kSyncColumns[] = {"start_ns", "duration_ns", "pid",         "tid",     "sync_kind",
                                             "stream",   "event",       "correlation", "function"};

constexpr std::string_view kEventRecordColumns[] = {"time_ns", "pid",         "tid",     "stream",
                                                    "event",   "correlation", "function"};

constexpr std::string_view kGraphNodeColumns[] = {"time_ns",  "pid",       "tid",         "graph",    "node",
                                                  "original", "node_type", "correlation", "function", "nvtx_path"};

constexpr std::string_view kOverheadColumns[] = {"start_ns", "duration_ns", "pid", "tid", "overhead_kind"};

constexpr std::string_view kJitColumns[] = {"start_ns", "duration_ns", "pid",       "tid",
                                            "device",   "entry_kind",  "operation", "cache_bytes"};

constexpr std::string_view kMemoryColumns[] = {"time_ns",   "pid",      "device",      "stream",
                                               "operation", "memory",   "address",     "size_bytes",
                                               "pool",      "is_async", "correlation", "function"};

constexpr std::string_view kMemoryPoolColumns[] = {
    "time_ns",    "pid",         "device",      "operation",
    "pool",       "size_bytes",  "used_bytes",  "release_threshold_bytes",
    "keep_bytes", "is_imported", "correlation", "function"};

constexpr std::string_view kSyncKinds[] = {"not known", "event", "stream waits for event", "stream", "context"};
constexpr std::string_view kEntryKinds[] = {"not known", "PTX to cubin", "NVVM IR to PTX"};
constexpr std::string_view kJitOperations[] = {"not known", "load from cache", "store to cache", "compile"};
constexpr std::string_view kPoolOperations[] = {"not known", "create", "destroy", "trim"};

std::string_view PathOf(const RecordContext& context, uint32_t range) {
  return range == kNone ? std::string_view() : context.Clean(context.trace().ranges[range].path);
}

void WriteCalls(RecordContext& context, RowWriter& row) {
  const Trace& trace = context.trace();
  StackNames stacks(trace);
  for (const ApiCall& call : trace.api_calls) {
    context.progress().Add();
    row.Integer(call.start_ns);
    row.Integer(call.DurationNs());
    AddPid(trace, call.process, row);
    AddTid(trace, call.thread, row);
    row.Unsigned(call.correlation);
    row.Text(context.Clean(call.function));
    row.Text(call.domain == trace::ApiDomain::kDriver ? "driver" : "runtime");
    row.Integer(call.result);
    row.Unsigned(call.op_count);
    row.Truth(call.parent != kNone);
    row.Truth(call.is_unfinished);
    row.Text(PathOf(context, call.range));
    row.Text(stacks(call.stack));
    row.EndRow();
  }
}

void WriteSyncs(RecordContext& context, RowWriter& row) {
  const Trace& trace = context.trace();
  for (const Sync& sync : trace.syncs) {
    row.Integer(sync.start_ns);
    row.Integer(sync.DurationNs());
    AddPid(trace, sync.process, row);
    AddTid(trace, sync.thread, row);
    AddWord(kSyncKinds, static_cast<std::size_t>(sync.kind), row);
    AddStream(trace, sync.stream, row);
    AddUnlessZero(sync.event, row);
    AddCall(context, sync.api, row);
    row.EndRow();
  }
}

void WriteEventRecords(RecordContext& context, RowWriter& row) {
  const Trace& trace = context.trace();
  for (const EventRecord& event : trace.event_records) {
    row.Integer(event.time_ns);
    AddPid(trace, event.process, row);
    AddTid(trace, event.thread, row);
    AddStream(trace, event.stream, row);
    AddUnlessZero(event.event, row);
    AddCall(context, event.api, row);
    row.EndRow();
  }
}

void WriteGraphNodes(RecordContext& context, RowWriter& row) {
  const Trace& trace = context.trace();
  for (const GraphNode& node : trace.graph_nodes) {
    row.Integer(node.time_ns);
    AddPid(trace, node.process, row);
    AddTid(trace, node.thread, row);
    AddUnlessZero(node.graph, row);
    row.Unsigned(node.id);
    AddUnlessZero(node.original_id, row);
    row.Unsigned(node.node_type);
    AddCall(context, node.api, row);
    row.Text(PathOf(context, node.range));
    row.EndRow();
  }
}

void WriteOverheads(RecordContext& context, RowWriter& row) {
  for (const Overhead& overhead : context.trace().overheads) {
    row.Integer(overhead.start_ns);
    row.Integer(overhead.end_ns - overhead.start_ns);
    AddPid(context.trace(), overhead.process, row);
    AddTid(context.trace(), overhead.thread, row);
    row.Text(OverheadName(overhead.kind));
    row.EndRow();
  }
}

void WriteJits(RecordContext& context, RowWriter& row) {
  for (const Jit& jit : context.trace().jits) {
    row.Integer(jit.start_ns);
    row.Integer(jit.end_ns - jit.start_ns);
    AddPid(context.trace(), jit.process, row);
    AddTid(context.trace(), jit.thread, row);
    AddDevice(context.trace(), jit.device, row);
    AddWord(kEntryKinds, jit.entry_kind, row);
    AddWord(kJitOperations, jit.operation, row);
    row.Unsigned(jit.cache_bytes);
    row.EndRow();
  }
}

void WriteMemory(RecordContext& context, RowWriter& row) {
  const Trace& trace = context.trace();
  for (const MemoryEvent& event : trace.memory_events) {
    row.Integer(event.time_ns);
    AddPid(trace, event.process, row);
    AddDevice(trace, event.device, row);
    AddStream(trace, event.stream, row);
    row.Text(event.operation == trace::MemoryOp::kAllocate ? "allocate" : "free");
    row.Text(MemoryName(event.memory));
    row.Unsigned(event.address);
    row.Unsigned(event.size_bytes);
    AddUnlessZero(event.pool, row);
    row.Truth(event.is_async);
    AddCall(context, event.api, row);
    row.EndRow();
  }
}

void WriteMemoryPools(RecordContext& context, RowWriter& row) {
  const Trace& trace = context.trace();
  for (const MemoryPoolEvent& event : trace.memory_pools) {
    row.Integer(event.time_ns);
    AddPid(trace, event.process, row);
    AddDevice(trace, event.device, row);
    AddWord(kPoolOperations, static_cast<std::size_t>(event.operation), row);
    row.Unsigned(event.pool);
    row.Unsigned(event.size_bytes);
    row.Unsigned(event.used_bytes);
    row.Unsigned(event.release_threshold_bytes);
    row.Unsigned(event.keep_bytes);
    row.Truth(event.is_imported);
    AddCall(context, event.api, row);
    row.EndRow();
  }
}

}  // namespace

const RecordTable kApiTable{"api", "CUDA calls", kApiColumns, WriteCalls};
const RecordTable kSyncTable{"sync", "calls that wait for the GPU, and streams that wait for events", kSyncColumns,
                             WriteSyncs};
const RecordTable kEventRecordTable{"event_record", "CUDA events recorded into streams", kEventRecordColumns,
                                    WriteEventRecords};
const RecordTable kGraphNodeTable{"graph_node", "nodes of CUDA graphs, as they were made", kGraphNodeColumns,
                                  WriteGraphNodes};
const RecordTable kOverheadTable{"overhead", "time that compilers, loaders and CUPTI took", kOverheadColumns,
                                 WriteOverheads};
const RecordTable kJitTable{"jit", "just-in-time compilation", kJitColumns, WriteJits};
const RecordTable kMemoryTable{"memory", "allocations and frees", kMemoryColumns, WriteMemory};
const RecordTable kMemoryPoolTable{"memory_pool", "memory pools made, trimmed and destroyed", kMemoryPoolColumns,
                                   WriteMemoryPools};

}  // namespace gprof
