// What ran on the GPUs: kernels, copies, fills, whole graphs, and migrations of managed memory.
#include "analysis/result/display_names.h"
#include "base/demangle.h"
#include "base/text.h"
#include "export/sqlite/sqlite_export.h"

namespace gprof {
namespace {

// CUPTI calls them counters of managed memory, Nsight Systems has them among the copies.
enum class MigrationKind : uint8_t { kHostToDevice = 11, kDeviceToHost = 12, kDeviceToDevice = 13 };

constexpr std::string_view kSqliteKernelColumns =
    "start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, "
    "greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, "
    "demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, mangledName INTEGER, launchType INTEGER, "
    "cacheConfig INTEGER, registersPerThread INTEGER NOT NULL, gridX INTEGER NOT NULL, gridY INTEGER NOT NULL, "
    "gridZ INTEGER NOT NULL, blockX INTEGER NOT NULL, blockY INTEGER NOT NULL, blockZ INTEGER NOT NULL, "
    "staticSharedMemory INTEGER NOT NULL, dynamicSharedMemory INTEGER NOT NULL, localMemoryPerThread INTEGER NOT NULL, "
    "localMemoryTotal INTEGER NOT NULL, gridId INTEGER NOT NULL, sharedMemoryExecuted INTEGER, graphNodeId INTEGER, "
    "sharedMemoryLimitConfig INTEGER, qmdBulkReleaseDone INTEGER, qmdPreexitDone INTEGER, qmdLastCtaDone INTEGER, "
    "graphId INTEGER, clusterX INTEGER, clusterY INTEGER, clusterZ INTEGER, clusterSchedulingPolicy INTEGER, "
    "maxPotentialClusterSize INTEGER, maxActiveClusters INTEGER, sharedMemoryRequestedPercentage INTEGER";

constexpr std::string_view kSqliteMemcpyColumns =
    "start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, "
    "greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, bytes INTEGER NOT "
    "NULL, "
    "copyKind INTEGER NOT NULL, deprecatedSrcId INTEGER, srcKind INTEGER, dstKind INTEGER, srcDeviceId INTEGER, "
    "srcContextId INTEGER, dstDeviceId INTEGER, dstContextId INTEGER, migrationCause INTEGER, graphNodeId INTEGER, "
    "virtualAddress INTEGER, copyCount INTEGER";

constexpr std::string_view kSqliteMemsetColumns =
    "start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, "
    "greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, value INTEGER NOT "
    "NULL, "
    "bytes INTEGER NOT NULL, graphNodeId INTEGER, memKind INTEGER";

constexpr std::string_view kGraphColumns =
    "start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, "
    "greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, "
    "graphId INTEGER NOT NULL, graphExecId INTEGER NOT NULL";

constexpr std::string_view kCpuFaultColumns =
    "start INTEGER NOT NULL, globalPid INTEGER NOT NULL, address INTEGER NOT NULL, originalFaultPc INTEGER, "
    "CpuInstruction INTEGER NOT NULL, module INTEGER NOT NULL, unresolvedFaultPc INTEGER, sourceFile INTEGER, "
    "sourceLine INTEGER";

constexpr std::string_view kGpuFaultColumns =
    "start INTEGER NOT NULL, end INTEGER NOT NULL, globalPid INTEGER NOT NULL, deviceId INTEGER NOT NULL, "
    "address INTEGER NOT NULL, numberOfPageFaults INTEGER NOT NULL, faultAccessType INTEGER NOT NULL";

// The last part of a qualified name, without the arguments of a template.
std::string_view BaseName(std::string_view name) {
  // "operator<" and names such as "<unnamed>" begin with what would otherwise open a list of arguments.
  const std::size_t open = name.find('<', 1);
  if (open != std::string_view::npos && !name.substr(0, open).ends_with("operator")) name = name.substr(0, open);
  const std::size_t colons = name.rfind("::");
  const std::string_view last = colons == std::string_view::npos ? name : name.substr(colons + 2);
  return last.empty() ? name : last;
}

struct KernelNames {
  int64_t demangled = -1, base = 0, mangled = 0;
};

class GpuWriter {
 public:
  explicit GpuWriter(SqliteExport& out) : out_(out), names_(out.trace.strings.size()) {}

  void Add(const GpuOp& op) {
    switch (op.kind) {
      case OpKind::kKernel:
        return AddKernel(op);
      case OpKind::kMemcpy:
      case OpKind::kPeerCopy:
        return AddCopy(op);
      case OpKind::kMemset:
        return AddMemset(op);
      case OpKind::kGraph:
        return AddGraph(op);
    }
  }

  void Add(const ManagedMemory& event) {
    switch (event.kind) {
      case trace::ManagedKind::kHostToDevice:
        return AddMigration(event, MigrationKind::kHostToDevice);
      case trace::ManagedKind::kDeviceToHost:
        return AddMigration(event, MigrationKind::kDeviceToHost);
      case trace::ManagedKind::kDeviceToDevice:
        return AddMigration(event, MigrationKind::kDeviceToDevice);
      case trace::ManagedKind::kCpuPageFaults:
        return AddCpuFault(event);
      case trace::ManagedKind::kGpuPageFault:
        return AddGpuFault(event);
      case trace::ManagedKind::kThrashing:
      case trace::ManagedKind::kThrottling:
      case trace::ManagedKind::kRemoteMap:
      case trace::ManagedKind::kUnknown:
        break;  // Nsight Systems has no table for them.
    }
  }

 private:
  const KernelNames& NamesOf(NameId name) {
    KernelNames& names = names_[name.value];
    if (names.demangled < 0) {
      const std::string full = Utf8(KernelName(out_.trace, name));
      names = {out_.strings.Id(full), out_.strings.Id(BaseName(ShortName(full))), out_.NameStringId(name)};
    }
    return names;
  }

  void AddKernel(const GpuOp& op) {
    static const trace::KernelShapeRecord kNoShape;
    const trace::KernelShapeRecord& s = op.shape == kNone ? kNoShape : out_.trace.shapes[op.shape];
    const KernelNames& names = NamesOf(op.name);
    const SqlitePlace place = PlaceOf(out_.trace, op.stream);
    constexpr int kRegularLaunch = 1;
    kernels_.Add(out_.Time(op.start_ns), out_.Time(op.end_ns), out_.DeviceId(op.device), place.context, std::nullopt,
                 place.stream, Correlation(op), out_.ProcessId(op.process), names.demangled, names.base, names.mangled,
                 kRegularLaunch, s.cache_config, s.registers_per_thread, s.grid_x, s.grid_y, s.grid_z, s.block_x,
                 s.block_y, s.block_z, s.static_shared_bytes, s.dynamic_shared_bytes, s.local_bytes_per_thread,
                 s.local_bytes_total, ++grid_count_, UnlessZero(s.shared_carveout_bytes), UnlessZero(op.graph_node),
                 std::nullopt, std::nullopt, std::nullopt, std::nullopt, UnlessZero(op.graph), s.cluster_x, s.cluster_y,
                 s.cluster_z, std::nullopt, std::nullopt, std::nullopt, std::nullopt);
  }

  std::optional<int64_t> KnownDevice(uint32_t device) const {
    if (device == kNone) return std::nullopt;
    return out_.DeviceId(device);
  }

  void AddCopy(const GpuOp& op) {
    const SqlitePlace place = PlaceOf(out_.trace, op.stream);
    const bool is_peer = op.kind == OpKind::kPeerCopy;
    const auto source = KnownDevice(is_peer ? op.SourceDevice() : kNone);
    const auto destination = KnownDevice(is_peer ? op.DestinationDevice() : kNone);
    copies_.Add(out_.Time(op.start_ns), out_.Time(op.end_ns), out_.DeviceId(op.device), place.context, std::nullopt,
                place.stream, Correlation(op), out_.ProcessId(op.process), op.size_bytes, op.copy_kind, std::nullopt,
                MemoryKindInSqlite(op.source_memory), MemoryKindInSqlite(op.destination_memory), source, std::nullopt,
                destination, std::nullopt, std::nullopt, UnlessZero(op.graph_node), std::nullopt, std::nullopt);
  }

  void AddMemset(const GpuOp& op) {
    const SqlitePlace place = PlaceOf(out_.trace, op.stream);
    // The value is not kept in the model, and the column must have one.
    constexpr int kValueNotKnown = 0;
    memsets_.Add(out_.Time(op.start_ns), out_.Time(op.end_ns), out_.DeviceId(op.device), place.context, std::nullopt,
                 place.stream, Correlation(op), out_.ProcessId(op.process), kValueNotKnown, op.size_bytes,
                 UnlessZero(op.graph_node), MemoryKindInSqlite(op.destination_memory));
  }

  void AddGraph(const GpuOp& op) {
    const SqlitePlace place = PlaceOf(out_.trace, op.stream);
    graphs_.Add(out_.Time(op.start_ns), out_.Time(op.end_ns), out_.DeviceId(op.device), place.context, std::nullopt,
                place.stream, Correlation(op), out_.ProcessId(op.process), op.graph, op.graph);
  }

  void AddMigration(const ManagedMemory& event, MigrationKind kind) {
    const SqlitePlace place = PlaceOf(out_.trace, event.stream);
    const bool is_from_host = event.source == kNone;
    const auto managed = MemoryKindInSqlite(trace::MemoryKind::kManaged);
    copies_.Add(out_.Time(event.start_ns), out_.Time(event.end_ns),
                out_.DeviceId(is_from_host ? event.destination : event.source), place.context, std::nullopt,
                place.stream, std::nullopt, out_.ProcessId(event.process), event.value, kind, std::nullopt, managed,
                managed, KnownDevice(event.source), std::nullopt, KnownDevice(event.destination), std::nullopt,
                event.flags, std::nullopt, event.address, std::nullopt);
  }

  void AddCpuFault(const ManagedMemory& event) {
    const int64_t unknown = out_.strings.Id("[Unknown]");
    cpu_faults_.Add(out_.Time(event.start_ns), out_.ProcessId(event.process), event.address, std::nullopt, unknown,
                    unknown, 1, std::nullopt, std::nullopt);
  }

  void AddGpuFault(const ManagedMemory& event) {
    gpu_faults_.Add(out_.Time(event.start_ns), out_.Time(event.end_ns), out_.ProcessId(event.process),
                    out_.DeviceId(event.source), event.address, event.value, event.flags);
  }

  // Work whose call was not recorded keeps its number.
  int64_t Correlation(const GpuOp& op) const { return out_.Correlation(op.api).value_or(op.correlation); }

  SqliteExport& out_;
  std::vector<KernelNames> names_;  // by NameId
  SqliteTable kernels_{out_.database, "CUPTI_ACTIVITY_KIND_KERNEL", kSqliteKernelColumns};
  SqliteTable copies_{out_.database, "CUPTI_ACTIVITY_KIND_MEMCPY", kSqliteMemcpyColumns};
  SqliteTable memsets_{out_.database, "CUPTI_ACTIVITY_KIND_MEMSET", kSqliteMemsetColumns};
  SqliteTable graphs_{out_.database, "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", kGraphColumns};
  SqliteTable cpu_faults_{out_.database, "CUDA_UM_CPU_PAGE_FAULT_EVENTS", kCpuFaultColumns};
  SqliteTable gpu_faults_{out_.database, "CUDA_UM_GPU_PAGE_FAULT_EVENTS", kGpuFaultColumns};
  int64_t grid_count_ = 0;
};

}  // namespace

void WriteSqliteGpu(SqliteExport& out) {
  GpuWriter writer(out);
  for (const GpuOp& op : out.trace.ops) {
    writer.Add(op);
    out.progress.Add();
  }
  for (const ManagedMemory& event : out.trace.managed_memory) {
    writer.Add(event);
    out.progress.Add();
  }
}

}  // namespace gprof
