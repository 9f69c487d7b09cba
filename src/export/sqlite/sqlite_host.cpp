// What the host did: CUDA calls, waits, events, graph building, and what was lost to compilers, loaders and CUPTI.
#include "analysis/facts/recording/overhead_kinds.h"
#include "export/sqlite/sqlite_export.h"

namespace gprof {
namespace {

// ENUM_NSYS_EVENT_CLASS
enum class EventClass : uint8_t { kRuntime = 0, kDriver = 1, kGraphNode = 77, kJit = 102, kOverhead = 103 };

constexpr int64_t kNoneInSqlite = 0xFFFFFFFF;

constexpr std::string_view kRuntimeColumns =
    "start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid INTEGER, correlationId "
    "INTEGER, "
    "nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL, callchainId INTEGER";

constexpr std::string_view kSqliteSyncColumns =
    "start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, "
    "greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, "
    "deprecatedSyncType INTEGER, syncType INTEGER NOT NULL, eventId INTEGER NOT NULL, eventSyncId INTEGER";

constexpr std::string_view kCudaEventColumns =
    "timestamp INTEGER, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, greenContextId INTEGER, "
    "streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, eventId INTEGER NOT NULL, eventSyncId "
    "INTEGER";

constexpr std::string_view kSqliteGraphNodeColumns =
    "start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid INTEGER, nameId INTEGER NOT "
    "NULL, "
    "graphNodeId INTEGER NOT NULL, originalGraphNodeId INTEGER";

constexpr std::string_view kProfilerColumns =
    "start INTEGER NOT NULL, end INTEGER NOT NULL, globalTid INTEGER, nameId INTEGER NOT NULL, overheadType INTEGER "
    "NOT NULL";

constexpr std::string_view kSqliteOverheadColumns =
    "start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid INTEGER, correlationId "
    "INTEGER, "
    "nameId INTEGER, overheadType INTEGER NOT NULL";

constexpr std::string_view kSqliteJitColumns =
    "start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid INTEGER, correlationId "
    "INTEGER, "
    "nameId INTEGER, overheadType INTEGER NOT NULL, jitEntryType INTEGER NOT NULL, jitOperationType INTEGER NOT NULL, "
    "deviceId INTEGER, jitOperationCorrelationId INTEGER, cacheSize INTEGER, cachePath TEXT";

struct OverheadName {
  std::string_view name;
  int64_t type;  // ENUM_CUPTI_OVERHEAD_TYPE
};

OverheadName OverheadNameOf(uint32_t cupti_kind) {
  constexpr uint32_t kFlush = 1u << 16, kInstrumentation = 2u << 16, kResource = 3u << 16, kBufferRequest = 7u << 16,
                     kManagedMemory = 8u << 16;
  switch (cupti_kind) {
    case kOverheadCompiler:
      return {"Driver Compiler", 2};
    case kFlush:
      return {"CUPTI Buffer flush", 3};
    case kInstrumentation:
      return {"CUPTI Instrumentation", 4};
    case kResource:
      return {"CUPTI Resource Management", 5};
    case kOverheadModuleLoading:
      return {"Runtime Triggered Module Loading", 6};
    case kOverheadLazyLoading:
      return {"Lazy Function Loading", 7};
    case kOverheadCommandBufferFull:
      return {"Command Buffer Full", 8};
    case kBufferRequest:
      return {"CUPTI Activity Buffer Request", 1};
    case kManagedMemory:
      return {"Unified Memory Activity Init", 1};
    default:
      return {"Unknown", 1};
  }
}

void WriteCalls(SqliteExport& out) {
  SqliteTable table(out.database, "CUPTI_ACTIVITY_KIND_RUNTIME", kRuntimeColumns);
  for (const ApiCall& call : out.trace.api_calls) {
    out.progress.Add();
    if (call.parent != kNone) continue;  // made by CUDA, not by the program
    const auto event_class = call.domain == trace::ApiDomain::kDriver ? EventClass::kDriver : EventClass::kRuntime;
    table.Add(out.Time(call.start_ns), out.Time(call.end_ns), event_class, out.ThreadId(call.process, call.thread),
              call.correlation, out.NameStringId(call.function), call.result,
              call.stack == kNone ? std::nullopt : std::optional<int64_t>(int64_t{call.stack} + 1));
  }
}

struct SyncPlace {
  int64_t device = 0, context = 0, stream = kNoneInSqlite;
};

SyncPlace SyncPlaceOf(const SqliteExport& out, uint32_t process, uint32_t stream) {
  if (stream != kNone) {
    const Stream& s = out.trace.streams[stream];
    return {out.DeviceId(s.device), s.context, s.id};
  }
  const Context* context = out.FirstContext(process);
  if (context == nullptr) return {};
  return {out.DeviceId(context->device), context->id, kNoneInSqlite};
}

// Events are known by their handles, the same in both tables.
int64_t EventId(uint64_t handle) { return handle == 0 ? kNoneInSqlite : static_cast<int64_t>(handle); }

void WriteSyncs(SqliteExport& out) {
  SqliteTable table(out.database, "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", kSqliteSyncColumns);
  for (const Sync& sync : out.trace.syncs) {
    const SyncPlace place = SyncPlaceOf(out, sync.process, sync.stream);
    table.Add(out.Time(sync.start_ns), out.Time(sync.end_ns), place.device, place.context, std::nullopt, place.stream,
              out.Correlation(sync.api), out.ProcessId(sync.process), std::nullopt, sync.kind, EventId(sync.event),
              std::nullopt);
    out.progress.Add();
  }
}

void WriteEvents(SqliteExport& out) {
  SqliteTable table(out.database, "CUPTI_ACTIVITY_KIND_CUDA_EVENT", kCudaEventColumns);
  constexpr int kTimeNotCollected = 0;
  for (const EventRecord& event : out.trace.event_records) {
    const SyncPlace place = SyncPlaceOf(out, event.process, event.stream);
    table.Add(kTimeNotCollected, place.device, place.context, std::nullopt, place.stream, out.Correlation(event.api),
              out.ProcessId(event.process), EventId(event.event), std::nullopt);
    out.progress.Add();
  }
}

void WriteGraphNodes(SqliteExport& out) {
  SqliteTable table(out.database, "CUDA_GRAPH_NODE_EVENTS", kSqliteGraphNodeColumns);
  for (const GraphNode& node : out.trace.graph_nodes) {
    const int64_t time_ns = out.Time(node.time_ns);
    table.Add(time_ns, time_ns, EventClass::kGraphNode, out.ThreadId(node.process, node.thread),
              out.strings.Id("Graph Node Creation"), node.id, UnlessZero(node.original_id));
    out.progress.Add();
  }
}

void WriteOverheads(SqliteExport& out) {
  SqliteTable profiler(out.database, "PROFILER_OVERHEAD", kProfilerColumns);
  SqliteTable cuda(out.database, "CUPTI_ACTIVITY_KIND_OVERHEAD", kSqliteOverheadColumns);
  for (const Overhead& o : out.trace.overheads) {
    const OverheadName name = OverheadNameOf(o.kind);
    const int64_t start_ns = out.Time(o.start_ns), end_ns = out.Time(o.end_ns),
                  thread = out.ThreadId(o.process, o.thread);
    const int64_t name_id = out.strings.Id(name.name);
    if (IsRecording(o.kind)) {
      profiler.Add(start_ns, end_ns, thread, name_id, name.type);
    } else {
      cuda.Add(start_ns, end_ns, EventClass::kOverhead, thread, std::nullopt, name_id, name.type);
    }
    out.progress.Add();
  }
}

void WriteJits(SqliteExport& out) {
  SqliteTable table(out.database, "CUPTI_ACTIVITY_KIND_JIT", kSqliteJitColumns);
  constexpr int kDriverCompiler = 2;
  for (const Jit& jit : out.trace.jits) {
    table.Add(out.Time(jit.start_ns), out.Time(jit.end_ns), EventClass::kJit, out.ThreadId(jit.process, jit.thread),
              std::nullopt, out.strings.Id("JIT"), kDriverCompiler, jit.entry_kind, jit.operation,
              out.DeviceId(jit.device), std::nullopt, jit.cache_bytes, std::nullopt);
  }
}

}  // namespace

void WriteSqliteHost(SqliteExport& out) {
  WriteCalls(out);
  WriteSyncs(out);
  WriteEvents(out);
  WriteGraphNodes(out);
  WriteOverheads(out);
  WriteJits(out);
}

}  // namespace gprof
