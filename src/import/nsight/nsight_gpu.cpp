// What the GPUs did: kernels, copies, memsets, graphs.
#include "import/nsight/nsight_import.h"
#include "import/nsight/nsight_values.h"
#include "import/nsight/number_columns.h"

namespace gprof {
namespace {

// The first columns of every table of GPU work.
enum OpColumn : std::size_t { kStart, kEnd, kDevice, kContext, kStream, kCorrelation, kProcess, kGraphNode, kGraph };
#define GPROF_OP_COLUMNS \
  "start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid", "graphNodeId", "graphId"

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
  r->device = rows.Int32(kDevice);
  r->context = rows.Int32(kContext);
  r->stream = rows.Int32(kStream);
  r->correlation = rows.Int32(kCorrelation);
  if constexpr (requires { r->graph_node; }) r->graph_node = rows.Unsigned(kGraphNode);
  r->graph = rows.Int32(kGraph);
  // Kernels alone say of which graph they are; what was launched with one is of the same.
  if constexpr (requires { r->graph_node; }) {
    if (r->graph != 0 && r->graph_node != 0) graphs_(builder_.process(), r->correlation) = r->graph;
    if (r->graph == 0 && r->graph_node != 0) r->graph = GraphOf(r->correlation);
  }
  Span span;
  if (!TakeSpan(rows, kStart, kEnd, &span, true)) return false;
  r->start_ns = span.start_ns;
  r->duration_ns = span.duration_ns;
  ++op_count_;
  NoteDevice(r->device);
  streams_(uint64_t{builder_.process()} << 32 | r->context, r->stream) = 0;
  return true;
}

void NsightImport::ReadKernels() {
  constexpr std::string_view kTable = "CUPTI_ACTIVITY_KIND_KERNEL";
  if (!file_.HasTable(kTable)) return;
  enum Column : std::size_t { kMangled = kGraph + 1, kDemangled, kShort, kLocalTotal, kCacheConfig, kFirstOfShape };
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
  const auto columns =
      WithColumns({GPROF_OP_COLUMNS, "mangledName", "demangledName", "shortName", "localMemoryTotal", "cacheConfig"},
                  kShapeColumns);
  SqliteRows rows(file_, kTable, columns);
  while (rows.Next()) {
    Enter(rows, kProcess);
    trace::KernelRecord r;
    Shape shape;
    ReadNumbers(rows, kFirstOfShape, kShapeColumns, &shape);
    shape.local_bytes_total = rows.Unsigned(kLocalTotal);
    shape.cache_config = static_cast<uint8_t>(rows.Int32(kCacheConfig));
    if (!StartOp(rows, &r)) continue;
    const bool is_mangled = !rows.IsNull(kMangled);
    r.name = NameOf(rows, is_mangled ? kMangled : rows.IsNull(kDemangled) ? kShort : kDemangled);
    if (shape.grid_x != 0) r.shape = builder_.Shape(shape);
    builder_.Add(r);
  }
}

void NsightImport::ReadCopies() {
  constexpr std::string_view kTable = "CUPTI_ACTIVITY_KIND_MEMCPY";
  if (!file_.HasTable(kTable)) return;
  enum Column : std::size_t { kBytes = kGraph + 1, kCopyKind, kSource, kDestination, kFrom, kTo, kAddress, kCause };
  constexpr std::string_view kColumns[] = {GPROF_OP_COLUMNS, "bytes",          "copyKind",
                                           "srcKind",        "dstKind",        "srcDeviceId",
                                           "dstDeviceId",    "virtualAddress", "migrationCause"};
  SqliteRows rows(file_, kTable, kColumns);
  while (rows.Next()) {
    Enter(rows, kProcess);
    const int64_t copy_kind = rows.Int(kCopyKind);
    if (copy_kind >= kFirstMigration && copy_kind <= kLastMigration) {
      ReadMigration(rows, copy_kind);
      continue;
    }
    trace::PeerCopyRecord r;
    r.size_bytes = rows.Unsigned(kBytes);
    r.source_memory = MemoryKindOf(rows.IsNull(kSource) ? -1 : rows.Int(kSource));
    r.destination_memory = MemoryKindOf(rows.IsNull(kDestination) ? -1 : rows.Int(kDestination));
    const bool is_peer = copy_kind == kPeerToPeer && !rows.IsNull(kFrom) && !rows.IsNull(kTo);
    r.source_device = rows.Int32(kFrom);
    r.destination_device = rows.Int32(kTo);
    if (!StartOp(rows, &r)) continue;
    ++copy_count_;
    const LinkedCall* const call = FindCall(r.correlation);
    r.is_async = call == nullptr || call->is_async ? 1 : 0;  // without a call of its own it is of a graph
    if (is_peer) {
      NoteDevice(r.source_device);
      NoteDevice(r.destination_device);
      builder_.Add(r);
      continue;
    }
    trace::MemcpyRecord copy;
    copy.start_ns = r.start_ns;
    copy.duration_ns = r.duration_ns;
    copy.device = r.device;
    copy.context = r.context;
    copy.stream = r.stream;
    copy.correlation = r.correlation;
    copy.size_bytes = r.size_bytes;
    copy.copy_kind = copy_kind >= 0 && copy_kind <= kPeerToPeer ? static_cast<uint8_t>(copy_kind) : uint8_t{0};
    copy.source_memory = r.source_memory;
    copy.destination_memory = r.destination_memory;
    copy.is_async = r.is_async;
    copy.graph = r.graph;
    copy.graph_node = r.graph_node;
    builder_.Add(copy);
  }
}

void NsightImport::ReadMigration(SqliteRows& rows, int64_t copy_kind) {
  enum Column : std::size_t { kBytes = kGraph + 1, kCopyKind, kSource, kDestination, kFrom, kTo, kAddress, kCause };
  trace::ManagedMemoryRecord r;
  Span span;
  const uint32_t device = rows.Int32(kDevice);
  const bool is_from_host = copy_kind == kFirstMigration, is_to_host = copy_kind == kFirstMigration + 1;
  r.managed_kind = static_cast<uint8_t>(is_from_host ? trace::ManagedKind::kHostToDevice
                                        : is_to_host ? trace::ManagedKind::kDeviceToHost
                                                     : trace::ManagedKind::kDeviceToDevice);
  r.value = rows.Unsigned(kBytes);
  r.address = rows.Unsigned(kAddress);
  r.flags = rows.Int32(kCause);
  r.source = is_from_host ? kNone : rows.IsNull(kFrom) ? device : rows.Int32(kFrom);
  r.destination = is_to_host ? kNone : rows.IsNull(kTo) ? device : rows.Int32(kTo);
  if (!TakeSpan(rows, kStart, kEnd, &span)) return;
  r.start_ns = span.start_ns;
  r.duration_ns = span.duration_ns;
  if (r.source != kNone) NoteDevice(r.source);
  if (r.destination != kNone) NoteDevice(r.destination);
  ++migration_count_;
  builder_.Add(r);
}

void NsightImport::ReadMemsets() {
  constexpr std::string_view kTable = "CUPTI_ACTIVITY_KIND_MEMSET";
  if (!file_.HasTable(kTable)) return;
  enum Column : std::size_t { kBytes = kGraph + 1, kValue, kMemory };
  constexpr std::string_view kColumns[] = {GPROF_OP_COLUMNS, "bytes", "value", "memKind"};
  SqliteRows rows(file_, kTable, kColumns);
  while (rows.Next()) {
    Enter(rows, kProcess);
    trace::MemsetRecord r;
    r.size_bytes = rows.Unsigned(kBytes);
    r.value = rows.Int32(kValue);
    r.memory = MemoryKindOf(rows.IsNull(kMemory) ? -1 : rows.Int(kMemory));
    if (!StartOp(rows, &r)) continue;
    const LinkedCall* const call = FindCall(r.correlation);
    r.is_async = call == nullptr || call->is_async ? 1 : 0;
    builder_.Add(r);
  }
}

// Graphs that were recorded as a whole.
void NsightImport::ReadGraphs() {
  constexpr std::string_view kTable = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE";
  if (!file_.HasTable(kTable)) return;
  constexpr std::string_view kColumns[] = {GPROF_OP_COLUMNS};
  SqliteRows rows(file_, kTable, kColumns);
  while (rows.Next()) {
    Enter(rows, kProcess);
    trace::GraphLaunchRecord r;
    if (!StartOp(rows, &r)) continue;
    ++graph_count_;
    builder_.Add(r);
  }
}

void NsightImport::ReadGraphNodes() {
  constexpr std::string_view kTable = "CUDA_GRAPH_NODE_EVENTS";
  if (!file_.HasTable(kTable)) return;
  enum Column : std::size_t { kTime, kThread, kName, kNode, kOriginal };
  constexpr std::string_view kColumns[] = {"start", "globalTid", "nameId", "graphNodeId", "originalGraphNodeId"};
  SqliteRows rows(file_, kTable, kColumns);
  while (rows.Next()) {
    Enter(rows, kThread);
    trace::GraphNodeRecord r;
    r.tid = ThreadOf(rows.Int(kThread));
    r.node = rows.Unsigned(kNode);
    r.original = rows.Unsigned(kOriginal);
    const std::string_view what = rows.IsNull(kName) ? "" : builder_.TextOf(TextOf(rows.Int(kName)));
    if (r.node == 0 || what.find("estr") != std::string_view::npos) continue;  // its end
    if (!TakeTime(rows, kTime, &r.time_ns)) continue;
    NoteThread(r.tid);
    builder_.Add(r);
  }
}

}  // namespace gprof
