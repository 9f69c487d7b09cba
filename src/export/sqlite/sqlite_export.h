// The SQLite export of Nsight Systems (schema 3.24): what its parts share. Each part writes some of the tables.
//
// What is not obvious in that schema:
//   * ids of processes and threads have the machine, the virtual machine, the process and the thread in one number;
//   * memory kinds are those of CUPTI less one, with "unknown" at the end;
//   * names are rows of StringIds, NVTX texts are not;
//   * tables without rows are not there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "export/export.h"
#include "export/sqlite/sqlite_database.h"
#include "export/tables/clean_names.h"
#include "gprof/trace.h"

namespace gprof {

// Ids for texts, in the order in which they are first asked for.
class SqliteStrings {
 public:
  int64_t Id(std::string_view text);
  void Write(SqliteDatabase& database) const;

 private:
  std::unordered_map<std::string, int64_t> ids_;
  std::vector<const std::string*> texts_;  // by id; nodes of ids_ stay where they are
};

struct SqliteExport {
  SqliteExport(const Trace& trace, const ExportOptions& options, SqliteDatabase& database);

  const Trace& trace;
  SqliteDatabase& database;
  CleanNames clean;
  SqliteStrings strings;
  ExportProgress progress;

  // Nanoseconds since the beginning of the trace.
  int64_t Time(int64_t time_ns) const { return time_ns - trace.start_ns; }
  int64_t MachineId(uint32_t process) const { return machine_ids_[process]; }
  int64_t ProcessId(uint32_t process) const;
  int64_t ThreadId(uint32_t process, uint32_t thread) const;
  int64_t DeviceId(uint32_t device) const;
  // Of the call of the program: calls that CUDA makes itself within it are left out. Nothing for kNone.
  std::optional<int64_t> Correlation(uint32_t api) const;
  // Stands for those that name no stream: the only context of the process, as a rule. nullptr where there is none.
  const Context* FirstContext(uint32_t process) const { return process == kNone ? nullptr : first_contexts_[process]; }
  // Id of the text of a name of the trace.
  int64_t NameStringId(NameId name);

 private:
  std::vector<int64_t> machine_ids_;  // of each process
  std::vector<int64_t> pids_, tids_;  // of each process, of each thread
  std::vector<const Context*> first_contexts_;
  std::vector<int64_t> name_string_ids_;  // by NameId, -1 where not asked for yet
};

// The stream that something ran in, and its context; 0 where they are not known.
struct SqlitePlace {
  uint32_t context = 0, stream = 0;
};
SqlitePlace PlaceOf(const Trace& trace, uint32_t stream);

// CUPTI's number, or the one that Nsight Systems gives it.
int64_t MemoryKindInSqlite(trace::MemoryKind kind);

// 0 means that there is none.
template <class V>
std::optional<int64_t> UnlessZero(V value) {
  if (value == 0) return std::nullopt;
  return static_cast<int64_t>(value);
}

void WriteSqliteEnums(SqliteDatabase& database);
void WriteSqliteTarget(SqliteExport& out);
void WriteSqliteGpu(SqliteExport& out);
void WriteSqliteHost(SqliteExport& out);
void WriteSqliteMemory(SqliteExport& out);
void WriteSqliteNvtx(SqliteExport& out);
void WriteSqliteThreads(SqliteExport& out);
void WriteSqliteMpi(SqliteExport& out);
void WriteSqliteNccl(SqliteExport& out);
void WriteSqliteMetrics(SqliteExport& out);
void WriteSqliteCounters(SqliteExport& out);

}  // namespace gprof
