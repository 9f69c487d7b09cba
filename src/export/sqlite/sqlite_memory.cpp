// Allocations and memory pools.
#include "export/sqlite/sqlite_export.h"

namespace gprof {
namespace {

constexpr std::string_view kUsageColumns =
    "start INTEGER NOT NULL, globalPid INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, "
    "address INTEGER NOT NULL, pc INTEGER NOT NULL, bytes INTEGER NOT NULL, memKind INTEGER NOT NULL, "
    "memoryOperationType INTEGER NOT NULL, name TEXT, correlationId INTEGER, streamId INTEGER, "
    "localMemoryPoolAddress INTEGER, localMemoryPoolReleaseThreshold INTEGER, localMemoryPoolSize INTEGER, "
    "localMemoryPoolUtilizedSize INTEGER, importedMemoryPoolAddress INTEGER, importedMemoryPoolProcessId INTEGER";

constexpr std::string_view kPoolColumns =
    "start INTEGER NOT NULL, globalPid INTEGER NOT NULL, deviceId INTEGER NOT NULL, address INTEGER NOT NULL, "
    "operationType INTEGER NOT NULL, poolType INTEGER NOT NULL, correlationId INTEGER, minBytesToKeep INTEGER, "
    "localMemoryPoolReleaseThreshold INTEGER, localMemoryPoolSize INTEGER, localMemoryPoolUtilizedSize INTEGER";

void WriteUsage(SqliteExport& out) {
  SqliteTable table(out.database, "CUDA_GPU_MEMORY_USAGE_EVENTS", kUsageColumns);
  for (const MemoryEvent& event : out.trace.memory_events) {
    const SqlitePlace place = PlaceOf(out.trace, event.stream);
    constexpr int kCallerNotKnown = 0, kAllocation = 0, kDeallocation = 1;
    table.Add(out.Time(event.time_ns), out.ProcessId(event.process), out.DeviceId(event.device), place.context,
              event.address, kCallerNotKnown, event.size_bytes, MemoryKindInSqlite(event.memory),
              event.operation == trace::MemoryOp::kAllocate ? kAllocation : kDeallocation, std::nullopt,
              out.Correlation(event.api), UnlessZero(place.stream), UnlessZero(event.pool), std::nullopt, std::nullopt,
              std::nullopt, std::nullopt, std::nullopt);
    out.progress.Add();
  }
}

void WritePools(SqliteExport& out) {
  SqliteTable table(out.database, "CUDA_GPU_MEMORY_POOL_EVENTS", kPoolColumns);
  for (const MemoryPoolEvent& event : out.trace.memory_pools) {
    constexpr int kLocal = 1, kImported = 2;
    table.Add(out.Time(event.time_ns), out.ProcessId(event.process), out.DeviceId(event.device), event.pool,
              event.operation, event.is_imported ? kImported : kLocal, out.Correlation(event.api), event.keep_bytes,
              event.release_threshold_bytes, event.size_bytes, event.used_bytes);
  }
}

}  // namespace

void WriteSqliteMemory(SqliteExport& out) {
  WriteUsage(out);
  WritePools(out);
}

}  // namespace gprof
