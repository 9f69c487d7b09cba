// Tables of what the host did.
#include "analysis/facts/places/stack_names.h"
#include "analysis/facts/recording/overhead_kinds.h"
#include "export/tables/list_tables.h"
#include "export/tables/record_rows.h"

namespace gprof {
namespace {

constexpr std::string_view kApiColumns[] = {"start_ns",      "duration_ns", "pid",    "tid",      "correlation",
                                            "function",      "domain",      "result", "op_count", "is_nested",
                                            "is_unfinished", "nvtx_path",   "stack"};

constexpr std::string_view kOverheadColumns[] = {"start_ns", "duration_ns", "pid", "tid", "overhead_kind"};

constexpr std::string_view kSyncKinds[] = {"not known", "event", "stream waits for event", "stream", "context"};
constexpr FieldColumn kSyncColumns[] = {
    {"start_ns"}, {"duration_ns"}, {"pid"},         {"tid"},     {"sync_kind", "kind", kSyncKinds},
    {"stream"},   {"event"},       {"correlation"}, {"function"}};

constexpr FieldColumn kEventRecordColumns[] = {{"time_ns"}, {"pid"},         {"tid"},     {"stream"},
                                               {"event"},   {"correlation"}, {"function"}};

constexpr FieldColumn kGraphNodeColumns[] = {
    {"time_ns"},   {"pid"},         {"tid"},      {"graph"},     {"node", "id"}, {"original", "original_id"},
    {"node_type"}, {"correlation"}, {"function"}, {"nvtx_path"}, {"stack"},      {"place"}};

constexpr std::string_view kEntryKinds[] = {"not known", "PTX to cubin", "NVVM IR to PTX"};
constexpr std::string_view kJitOperations[] = {"not known", "load from cache", "store to cache", "compile"};
constexpr FieldColumn kJitColumns[] = {{"start_ns"},
                                       {"duration_ns"},
                                       {"pid"},
                                       {"tid"},
                                       {"device"},
                                       {"entry_kind", {}, kEntryKinds},
                                       {"operation", {}, kJitOperations},
                                       {"cache_bytes"}};

constexpr std::string_view kMemoryOperations[] = {"not known", "allocate", "free"};
constexpr FieldColumn kMemoryColumns[] = {
    {"time_ns"},     {"pid"},     {"device"},     {"stream"}, {"operation", {}, kMemoryOperations},
    {"memory"},      {"address"}, {"size_bytes"}, {"pool"},   {"is_async"},
    {"correlation"}, {"function"}};

constexpr std::string_view kPoolOperations[] = {"not known", "create", "destroy", "trim"};
constexpr FieldColumn kMemoryPoolColumns[] = {
    {"time_ns"},    {"pid"},         {"device"},      {"operation", {}, kPoolOperations},
    {"pool"},       {"size_bytes"},  {"used_bytes"},  {"release_threshold_bytes"},
    {"keep_bytes"}, {"is_imported"}, {"correlation"}, {"function"}};

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
    row.Text(call.range == kNone ? std::string_view() : context.Clean(trace.ranges[call.range].path));
    row.Text(stacks(call.stack));
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

}  // namespace

const RecordTable kApiTable{"api", "CUDA calls", kApiColumns, WriteCalls};
const RecordTable kSyncTable =
    TableOfList<&Trace::syncs, kSyncColumns>("sync", "calls that wait for the GPU, and streams that wait for events");
const RecordTable kEventRecordTable =
    TableOfList<&Trace::event_records, kEventRecordColumns>("event_record", "CUDA events recorded into streams");
const RecordTable kGraphNodeTable =
    TableOfList<&Trace::graph_nodes, kGraphNodeColumns>("graph_node", "nodes of CUDA graphs, as they were made");
const RecordTable kOverheadTable{"overhead", "time spent in compilers, loaders and CUPTI", kOverheadColumns,
                                 WriteOverheads};
const RecordTable kJitTable = TableOfList<&Trace::jits, kJitColumns>("jit", "just-in-time compilation");
const RecordTable kMemoryTable = TableOfList<&Trace::memory_events, kMemoryColumns>("memory", "allocations and frees");
const RecordTable kMemoryPoolTable =
    TableOfList<&Trace::memory_pools, kMemoryPoolColumns>("memory_pool", "memory pools made, trimmed and destroyed");

}  // namespace gprof
