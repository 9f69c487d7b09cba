// What the GPUs did: kernels, copies, memsets, graphs.
#include "import/nsight/nsight_import.h"
#include "import/nsight/nsight_values.h"
#include "import/nsight/number_columns.h"

namespace gprof {
namespace {

// The first columns of every table of GPU work.
constexpr Columns kOpColumns{"start",         "end",       "deviceId",    "contextId", "streamId",
                             "correlationId", "globalPid", "graphNodeId", "graphId"};
constexpr auto kCopyColumns = kOpColumns.With("bytes", "copyKind", "srcKind", "dstKind", "srcDeviceId", "dstDeviceId",
                                              "virtualAddress", "migrationCause");

constexpr int64_t kPeerToPeer = 10;
// Copies that the driver made of managed memory: to the device, to the host, between devices.
constexpr int64_t kFirstMigration = 11, kLastMigration = 13;

}  // namespace

uint32_t NsightImport::GraphOf(uint32_t correlation) const {
  const uint32_t graph = graphs_.Find(builder_.process(), correlation);
  return graph == kNone ? 0 : graph;
}

template <class R>
bool NsightImport::StartOp(SqliteRows& rows, R* r) {
  r->device = rows.Int32(kOpColumns["deviceId"]);
  r->context = rows.Int32(kOpColumns["contextId"]);
  r->stream = rows.Int32(kOpColumns["streamId"]);
  r->correlation = rows.Int32(kOpColumns["correlationId"]);
  if constexpr (requires { r->graph_node; }) r->graph_node = rows.Unsigned(kOpColumns["graphNodeId"]);
  r->graph = rows.Int32(kOpColumns["graphId"]);
  // Kernels alone say of which graph they are; what was launched with one is of the same.
  if constexpr (requires { r->graph_node; }) {
    if (r->graph != 0 && r->graph_node != 0) graphs_(builder_.process(), r->correlation) = r->graph;
    if (r->graph == 0 && r->graph_node != 0) r->graph = GraphOf(r->correlation);
  }
  if (!TakeSpan(rows, r, true)) return false;
  ++op_count_;
  NoteDevice(r->device);
  streams_(uint64_t{builder_.process()} << 32 | r->context, r->stream) = 0;
  return true;
}

template <class R>
bool NsightImport::StartCopy(SqliteRows& rows, R* r) {
  r->size_bytes = rows.Unsigned(kCopyColumns["bytes"]);
  r->source_memory = MemoryKindOf(rows.Int(kCopyColumns["srcKind"], -1));
  r->destination_memory = MemoryKindOf(rows.Int(kCopyColumns["dstKind"], -1));
  if (!StartOp(rows, r)) return false;
  ++copy_count_;
  r->is_async = IsAsync(r->correlation) ? 1 : 0;
  return true;
}

// Without a call of its own it is of a graph.
bool NsightImport::IsAsync(uint32_t correlation) const {
  const LinkedCall* const call = FindCall(correlation);
  return call == nullptr || call->is_async;
}

void NsightImport::ReadKernels() {
  constexpr std::string_view kTable = "CUPTI_ACTIVITY_KIND_KERNEL";
  static constexpr auto kColumns =
      kOpColumns.With("mangledName", "demangledName", "shortName", "localMemoryTotal", "cacheConfig");
  using Shape = trace::KernelShapeRecord;
  static constexpr NumberColumn<Shape> kShapeColumns[] = {{"gridX", &Shape::grid_x},
                                                          {"gridY", &Shape::grid_y},
                                                          {"gridZ", &Shape::grid_z},
                                                          {"blockX", &Shape::block_x},
                                                          {"blockY", &Shape::block_y},
                                                          {"blockZ", &Shape::block_z},
                                                          {"clusterX", &Shape::cluster_x},
                                                          {"clusterY", &Shape::cluster_y},
                                                          {"clusterZ", &Shape::cluster_z},
                                                          {"registersPerThread", &Shape::registers_per_thread},
                                                          {"staticSharedMemory", &Shape::static_shared_bytes},
                                                          {"dynamicSharedMemory", &Shape::dynamic_shared_bytes},
                                                          {"localMemoryPerThread", &Shape::local_bytes_per_thread},
                                                          {"sharedMemoryExecuted", &Shape::shared_carveout_bytes}};
  SqliteRows rows(file_, kTable, WithColumns(kColumns, kShapeColumns));
  while (rows.Next()) {
    Enter(rows, kOpColumns["globalPid"]);
    trace::KernelRecord r;
    Shape shape;
    ReadNumbers(rows, kColumns.size(), kShapeColumns, &shape);
    shape.local_bytes_total = rows.Unsigned(kColumns["localMemoryTotal"]);
    shape.cache_config = static_cast<uint8_t>(rows.Int32(kColumns["cacheConfig"]));
    if (!StartOp(rows, &r)) continue;
    r.name = NameOf(rows, !rows.IsNull(kColumns["mangledName"])     ? kColumns["mangledName"]
                          : !rows.IsNull(kColumns["demangledName"]) ? kColumns["demangledName"]
                                                                    : kColumns["shortName"]);
    if (shape.grid_x != 0) r.shape = builder_.Shape(shape);
    builder_.Add(r);
  }
}

void NsightImport::ReadCopies() {
  constexpr std::string_view kTable = "CUPTI_ACTIVITY_KIND_MEMCPY";
  SqliteRows rows(file_, kTable, kCopyColumns);
  while (rows.Next()) {
    Enter(rows, kOpColumns["globalPid"]);
    const int64_t copy_kind = rows.Int(kCopyColumns["copyKind"]);
    if (copy_kind >= kFirstMigration && copy_kind <= kLastMigration) {
      ReadMigration(rows, copy_kind);
      continue;
    }
    if (copy_kind == kPeerToPeer && !rows.IsNull(kCopyColumns["srcDeviceId"]) &&
        !rows.IsNull(kCopyColumns["dstDeviceId"])) {
      trace::PeerCopyRecord r;
      r.source_device = rows.Int32(kCopyColumns["srcDeviceId"]);
      r.destination_device = rows.Int32(kCopyColumns["dstDeviceId"]);
      if (!StartCopy(rows, &r)) continue;
      NoteDevice(r.source_device);
      NoteDevice(r.destination_device);
      builder_.Add(r);
    } else {
      trace::MemcpyRecord r;
      r.copy_kind = copy_kind >= 0 && copy_kind <= kPeerToPeer ? static_cast<uint8_t>(copy_kind) : uint8_t{0};
      if (StartCopy(rows, &r)) builder_.Add(r);
    }
  }
}

void NsightImport::ReadMigration(SqliteRows& rows, int64_t copy_kind) {
  trace::ManagedMemoryRecord r;
  const uint32_t device = rows.Int32(kOpColumns["deviceId"]);
  const bool is_from_host = copy_kind == kFirstMigration, is_to_host = copy_kind == kFirstMigration + 1;
  r.managed_kind = static_cast<uint8_t>(is_from_host ? trace::ManagedKind::kHostToDevice
                                        : is_to_host ? trace::ManagedKind::kDeviceToHost
                                                     : trace::ManagedKind::kDeviceToDevice);
  r.value = rows.Unsigned(kCopyColumns["bytes"]);
  r.address = rows.Unsigned(kCopyColumns["virtualAddress"]);
  r.flags = rows.Int32(kCopyColumns["migrationCause"]);
  r.source = is_from_host ? kNone : rows.Int32(kCopyColumns["srcDeviceId"], device);
  r.destination = is_to_host ? kNone : rows.Int32(kCopyColumns["dstDeviceId"], device);
  if (!TakeSpan(rows, &r)) return;
  if (r.source != kNone) NoteDevice(r.source);
  if (r.destination != kNone) NoteDevice(r.destination);
  ++migration_count_;
  builder_.Add(r);
}

void NsightImport::ReadMemsets() {
  constexpr std::string_view kTable = "CUPTI_ACTIVITY_KIND_MEMSET";
  static constexpr auto kColumns = kOpColumns.With("bytes", "value", "memKind");
  SqliteRows rows(file_, kTable, kColumns);
  while (rows.Next()) {
    Enter(rows, kOpColumns["globalPid"]);
    trace::MemsetRecord r;
    r.size_bytes = rows.Unsigned(kColumns["bytes"]);
    r.value = rows.Int32(kColumns["value"]);
    r.memory = MemoryKindOf(rows.Int(kColumns["memKind"], -1));
    if (!StartOp(rows, &r)) continue;
    r.is_async = IsAsync(r.correlation) ? 1 : 0;
    builder_.Add(r);
  }
}

// Graphs that were recorded as a whole.
void NsightImport::ReadGraphs() {
  constexpr std::string_view kTable = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE";
  SqliteRows rows(file_, kTable, kOpColumns);
  while (rows.Next()) {
    Enter(rows, kOpColumns["globalPid"]);
    trace::GraphLaunchRecord r;
    if (!StartOp(rows, &r)) continue;
    ++graph_count_;
    builder_.Add(r);
  }
}

void NsightImport::ReadGraphNodes() {
  constexpr std::string_view kTable = "CUDA_GRAPH_NODE_EVENTS";
  static constexpr Columns kColumns{"start", "globalTid", "nameId", "graphNodeId", "originalGraphNodeId"};
  SqliteRows rows(file_, kTable, kColumns);
  while (rows.Next()) {
    Enter(rows, kColumns["globalTid"]);
    trace::GraphNodeRecord r;
    r.tid = ThreadOf(rows.Int(kColumns["globalTid"]));
    r.node = rows.Unsigned(kColumns["graphNodeId"]);
    r.original = rows.Unsigned(kColumns["originalGraphNodeId"]);
    const std::string_view what =
        rows.IsNull(kColumns["nameId"]) ? "" : builder_.TextOf(TextOf(rows.Int(kColumns["nameId"])));
    if (r.node == 0 || what.find("estr") != std::string_view::npos) continue;  // its end
    if (!TakeTime(rows, kColumns["start"], &r.time_ns)) continue;
    NoteThread(r.tid);
    builder_.Add(r);
  }
}

}  // namespace gprof
