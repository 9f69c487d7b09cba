#include <algorithm>
#include <set>

#include "analysis/facts/operations/operations.h"
#include "export/exporters.h"
#include "export/sqlite/sqlite_export.h"

namespace gprof {
namespace {

uint64_t RowCount(const Trace& trace) {
  return trace.ops.size() + trace.api_calls.size() + trace.ranges.size() + trace.marks.size() + trace.syncs.size() +
         trace.managed_memory.size() + trace.memory_events.size() + trace.overheads.size() +
         trace.event_records.size() + trace.graph_nodes.size() + trace.os_calls.size() + trace.cpu_samples.size() +
         trace.switches.size() + trace.collectives.size() + trace.metric_samples.size();
}

// Machine in the highest byte, virtual machine in the next: the first of each is 0 and 1.
std::vector<int64_t> MachineIds(const Trace& trace) {
  std::vector<std::string_view> hosts;
  std::vector<int64_t> ids;
  for (const Process& process : trace.processes) {
    const std::string_view host = trace.Text(process.host);
    const auto found = std::find(hosts.begin(), hosts.end(), host);
    const auto machine = static_cast<int64_t>(found - hosts.begin());
    if (found == hosts.end()) hosts.push_back(host);
    ids.push_back((machine & 0x7F) << 56 | int64_t{1} << 48);
  }
  return ids;
}

constexpr uint32_t kPidBits = 24;
constexpr int64_t kPidMask = (int64_t{1} << kPidBits) - 1;

// Other tools have numbers beyond what an id has room for, pieces of addresses. They get free ones, from the largest
// down.
template <class Members, class F>
std::vector<int64_t> NumbersThatFit(const Members& members, F number_of) {
  std::set<int64_t> taken;
  for (const auto& member : members) taken.insert(number_of(member));
  std::vector<int64_t> numbers;
  int64_t next = kPidMask;
  for (const auto& member : members) {
    int64_t number = number_of(member);
    if (number > kPidMask) {
      while (taken.contains(next)) --next;
      number = next--;
    }
    numbers.push_back(number & kPidMask);
  }
  return numbers;
}

}  // namespace

int64_t SqliteStrings::Id(std::string_view text) {
  const auto [entry, is_new] = ids_.try_emplace(std::string(text), static_cast<int64_t>(texts_.size()));
  if (is_new) texts_.push_back(&entry->first);
  return entry->second;
}

void SqliteStrings::Write(SqliteDatabase& database) const {
  SqliteTable table(database, "StringIds", "id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL");
  for (std::size_t i = 0; i < texts_.size(); ++i) table.Add(i, *texts_[i]);
}

SqliteExport::SqliteExport(const Trace& trace_in, const ExportOptions& options, SqliteDatabase& database_in)
    : trace(trace_in),
      database(database_in),
      clean(trace_in),
      progress(options, RowCount(trace_in)),
      machine_ids_(MachineIds(trace_in)),
      pids_(NumbersThatFit(trace_in.processes, [](const Process& p) { return int64_t{p.pid}; })),
      tids_(NumbersThatFit(trace_in.threads, [](const Thread& t) { return int64_t{t.tid}; })),
      first_contexts_(trace_in.processes.size()),
      name_string_ids_(trace_in.strings.size(), -1) {
  strings.Id("");
  for (const Context& context : trace.contexts) {
    if (context.process != kNone && first_contexts_[context.process] == nullptr)
      first_contexts_[context.process] = &context;
  }
}

int64_t SqliteExport::ProcessId(uint32_t process) const {
  if (process == kNone) return 0;
  return machine_ids_[process] | pids_[process] << kPidBits;
}

int64_t SqliteExport::ThreadId(uint32_t process, uint32_t thread) const {
  if (thread != kNone) {
    return ProcessId(trace.threads[thread].process) | tids_[thread];
  }
  // The main thread has the number of its process.
  return process == kNone ? 0 : ProcessId(process) | pids_[process];
}

int64_t SqliteExport::DeviceId(uint32_t device) const { return device == kNone ? 0 : trace.devices[device].ordinal; }

std::optional<int64_t> SqliteExport::Correlation(uint32_t api) const {
  const uint32_t call = OutermostCall(trace, api);
  if (call == kNone) return std::nullopt;
  return trace.api_calls[call].correlation;
}

int64_t SqliteExport::NameStringId(NameId name) {
  int64_t& id = name_string_ids_[name.value];
  if (id < 0) id = strings.Id(clean(name));
  return id;
}

SqlitePlace PlaceOf(const Trace& trace, uint32_t stream) {
  if (stream == kNone) return {};
  return {trace.streams[stream].context, trace.streams[stream].id};
}

int64_t MemoryKindInSqlite(trace::MemoryKind kind) {
  constexpr int64_t kUnknown = 7;
  return kind == trace::MemoryKind::kUnknown ? kUnknown : static_cast<int64_t>(kind) - 1;
}

void WriteSqlite(const Trace& trace, const ExportOptions& options, const std::string& path) {
  SqliteDatabase database(path);
  SqliteExport out(trace, options, database);
  WriteSqliteTarget(out);
  WriteSqliteGpu(out);
  WriteSqliteHost(out);
  WriteSqliteMemory(out);
  WriteSqliteNvtx(out);
  WriteSqliteThreads(out);
  WriteSqliteMpi(out);
  WriteSqliteNccl(out);
  WriteSqliteMetrics(out);
  WriteSqliteCounters(out);
  WriteSqliteEnums(database);
  out.strings.Write(database);
  database.Commit();
}

}  // namespace gprof
