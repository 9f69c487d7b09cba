// Operations of NCCL as NCCL told of them, for which Nsight Systems has no tables: it has the payloads of NVTX ranges.
#include <set>
#include <utility>

#include "analysis/facts/operations/nccl_kernels.h"
#include "analysis/topics/gpus/nccl_messages.h"
#include "export/sqlite/sqlite_export.h"

namespace gprof {
namespace {

constexpr std::string_view kCommunicatorColumns =
    "globalPid INTEGER NOT NULL, communicatorId INTEGER NOT NULL, name TEXT, rank INTEGER, size INTEGER, nodes INTEGER";

constexpr std::string_view kEventColumns =
    "start INTEGER NOT NULL, end INTEGER NOT NULL, globalTid INTEGER, nameId INTEGER NOT NULL, communicatorId INTEGER "
    "NOT NULL, sequence INTEGER, size INTEGER NOT NULL, remoteRank INTEGER, datatype TEXT, algorithm TEXT, protocol "
    "TEXT, channels INTEGER, isCaptured INTEGER NOT NULL, deviceId INTEGER, kernelStart INTEGER, kernelEnd INTEGER";

std::optional<int64_t> UnlessNegative(int32_t value) {
  return value < 0 ? std::nullopt : std::optional<int64_t>(value);
}

void WriteCommunicators(SqliteExport& out) {
  SqliteTable table(out.database, "NCCL_COMMUNICATORS", kCommunicatorColumns);
  std::set<std::pair<uint32_t, uint64_t>> written;
  for (const Collective& c : out.trace.collectives) {
    if (!written.emplace(c.process, c.communicator).second) continue;
    table.Add(out.ProcessId(c.process), c.communicator, out.clean(c.communicator_name), UnlessNegative(c.rank),
              UnlessZero(c.ranks), UnlessZero(c.nodes));
  }
}

void WriteOperations(SqliteExport& out) {
  SqliteTable table(out.database, "NCCL_EVENTS", kEventColumns);
  const NcclKernels nccl(out.trace);
  const NcclMessages messages(out.trace, [&](const GpuOp& op) { return nccl.Has(op); });
  for (const NcclMessage& message : messages.all()) {
    if (message.record == nullptr) continue;
    out.progress.Add();
    const Collective& c = *message.record;
    const auto sequence = message.IsPeerToPeer() ? std::nullopt : std::optional(c.sequence);
    const auto kernels = message.kernels;
    const auto device = message.device == kNone ? std::nullopt : std::optional(out.DeviceId(message.device));
    table.Add(out.Time(c.start_ns), out.Time(c.end_ns), out.ThreadId(c.process, c.thread), out.NameStringId(c.function),
              c.communicator, sequence, c.size_bytes, UnlessNegative(c.peer), out.clean(c.datatype),
              out.clean(c.algorithm), out.clean(c.protocol), UnlessZero(c.channels), c.is_captured, device,
              kernels ? std::optional(out.Time(kernels->start_ns)) : std::nullopt,
              kernels ? std::optional(out.Time(kernels->end_ns)) : std::nullopt);
  }
}

}  // namespace

void WriteSqliteNccl(SqliteExport& out) {
  if (out.trace.collectives.empty()) return;
  WriteCommunicators(out);
  WriteOperations(out);
}

}  // namespace gprof
