// Calls of MPI, in the tables of Nsight Systems.
#include <string_view>

#include "export/sqlite/sqlite_export.h"

namespace gprof {
namespace {

constexpr std::string_view kCallColumns =
    "start INTEGER NOT NULL, end INTEGER NOT NULL, globalTid INTEGER, textId INTEGER NOT NULL";
constexpr std::string_view kPeerColumns =
    ", commHandle INTEGER, remoteRank INTEGER, tag INTEGER, size INTEGER, "
    "requestHandle INTEGER";
constexpr std::string_view kCollectiveColumns =
    ", commHandle INTEGER, rootRank INTEGER, size INTEGER, recvSize INTEGER";

enum class MpiTable : uint8_t { kPeer, kCollective, kWait, kOther };

bool StartsWithOneOf(std::string_view text, std::initializer_list<std::string_view> starts) {
  for (const std::string_view start : starts) {
    if (text.starts_with(start)) return true;
  }
  return false;
}

MpiTable TableOf(const MpiCall& call, std::string_view function) {
  constexpr std::string_view kPrefix = "MPI_";
  std::string_view name = function;
  if (name.starts_with(kPrefix)) name.remove_prefix(kPrefix.size());
  if (StartsWithOneOf(name, {"Wait", "Test", "Start"})) return MpiTable::kWait;
  if (call.tag >= 0 || StartsWithOneOf(name, {"Send", "Recv", "Isend", "Irecv", "Probe", "Iprobe"}))
    return MpiTable::kPeer;
  if (StartsWithOneOf(name, {"Init", "Finalize", "Comm_", "Win_", "File_", "Cart_", "Dist_", "Put", "Get", "Accumulate",
                             "Rput", "Rget", "Raccumulate", "Fetch", "Compare"}))
    return MpiTable::kOther;
  return MpiTable::kCollective;
}

std::optional<int64_t> RankOrNone(int32_t rank) { return rank >= 0 ? std::optional<int64_t>(rank) : std::nullopt; }

}  // namespace

void WriteSqliteMpi(SqliteExport& out) {
  const auto columns = [](std::string_view more) { return std::string(kCallColumns) + std::string(more); };
  SqliteTable peers(out.database, "MPI_P2P_EVENTS", columns(kPeerColumns));
  SqliteTable collectives(out.database, "MPI_COLLECTIVES_EVENTS", columns(kCollectiveColumns));
  SqliteTable waits(out.database, "MPI_START_WAIT_EVENTS", columns(", requestHandle INTEGER"));
  SqliteTable others(out.database, "MPI_OTHER_EVENTS", columns(""));
  for (const MpiCall& call : out.trace.mpi_calls) {
    out.progress.Add();
    const int64_t start_ns = out.Time(call.start_ns), end_ns = out.Time(call.end_ns);
    const int64_t thread = out.ThreadId(call.process, call.thread), name = out.NameStringId(call.function);
    const auto communicator = UnlessZero(call.communicator);
    const auto sent = UnlessZero(call.sent_bytes), received = UnlessZero(call.received_bytes);
    switch (TableOf(call, out.trace.Text(call.function))) {
      case MpiTable::kPeer:
        peers.Add(start_ns, end_ns, thread, name, communicator, RankOrNone(call.peer), RankOrNone(call.tag),
                  sent ? sent : received, std::nullopt);
        break;
      case MpiTable::kCollective:
        collectives.Add(start_ns, end_ns, thread, name, communicator, RankOrNone(call.peer), sent, received);
        break;
      case MpiTable::kWait:
        waits.Add(start_ns, end_ns, thread, name, std::nullopt);
        break;
      case MpiTable::kOther:
        others.Add(start_ns, end_ns, thread, name);
        break;
    }
  }
}

}  // namespace gprof
