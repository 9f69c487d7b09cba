#include "export/query/query_tables.h"

#include <algorithm>
#include <iterator>

#include "export/query/query_database.h"
#include "export/tables/record_tables.h"

namespace gprof {
namespace {

using enum Fact;

struct TableFacts {
  std::string_view table;
  FactSet facts;
};

constexpr TableFacts kFactsOfTables[] = {{"kernel", kOperations},
                                         {"memcpy", kOperations},
                                         {"memset", kOperations},
                                         {"graph_launch", kOperations},
                                         {"managed_memory", kManagedMemory},
                                         {"api", kApiCalls},
                                         {"sync", kSyncs},
                                         {"event_record", kEvents},
                                         {"graph_node", kGraphNodes},
                                         {"memory", kMemory},
                                         {"memory_pool", kMemory},
                                         {"nvtx_range", kNvtx},
                                         {"nvtx_mark", kNvtx},
                                         {"nvtx_payload", kNvtx},
                                         {"overhead", kOverheads},
                                         {"jit", kCompilations},
                                         {"device", kDevices},
                                         {"clock", kClocks},
                                         {"cpu_sample", kCpuSamples},
                                         {"switch", kSwitches},
                                         {"os_call", kOsCalls},
                                         {"mpi_call", kMpiCalls},
                                         {"gemm", kGemms},
                                         {"collective", kCollectives},
                                         {"nccl_transfer", kCollectives},
                                         {"directive", kOpenMp | kOpenAcc},
                                         {"work_rate", kSlowDown},
                                         {"calibration", kRecordingCost},
                                         {"metric_source", kHostLoad | kGpuMetrics},
                                         {"metric_block", kHostLoad | kGpuMetrics},
                                         {"counter_plan", kCounters},
                                         {"counter_range", kCounters},
                                         {"counter_values", kCounters},
                                         {"pc_sample", kCounters},
                                         {"instruction", kCounters}};

constexpr QueryView kViews[] = {
    {"gpu_op", "all operations of GPUs: kernels, copies, memsets, graphs recorded as a whole",
     "SELECT 'kernel' AS kind, short_name AS name, pid, device, stream, start_ns, start_ns + duration_ns AS end_ns, "
     "duration_ns, correlation, function, call_start_ns, call_tid, nvtx_path FROM kernel UNION ALL "
     "SELECT 'memcpy', direction, pid, device, stream, start_ns, start_ns + duration_ns, duration_ns, correlation, "
     "function, call_start_ns, call_tid, nvtx_path FROM memcpy UNION ALL "
     "SELECT 'memset', memory, pid, device, stream, start_ns, start_ns + duration_ns, duration_ns, correlation, "
     "function, call_start_ns, call_tid, nvtx_path FROM memset UNION ALL "
     "SELECT 'graph', 'graph', pid, device, stream, start_ns, start_ns + duration_ns, duration_ns, correlation, "
     "function, call_start_ns, call_tid, nvtx_path FROM graph_launch"},
    // What lies between two captures is not known, so it is no gap.
    {"gpu_gap", "idle intervals of GPUs between operations, with the operation that ended each",
     "SELECT device, max(g.start_ns, coalesce(c.start_ns, g.start_ns)) AS start_ns, min(g.end_ns, coalesce(c.end_ns, "
     "g.end_ns)) AS end_ns, min(g.end_ns, coalesce(c.end_ns, g.end_ns)) - max(g.start_ns, coalesce(c.start_ns, "
     "g.start_ns)) AS duration_ns, kind, name, function, call_start_ns, call_tid, nvtx_path FROM (SELECT device, pid, "
     "kind, name, function, call_start_ns, call_tid, nvtx_path, busy_until_ns AS start_ns, start_ns AS end_ns FROM "
     "(SELECT *, max(end_ns) OVER (PARTITION BY device ORDER BY start_ns, end_ns ROWS BETWEEN UNBOUNDED PRECEDING AND "
     "1 PRECEDING) AS busy_until_ns FROM gpu_op) WHERE start_ns > busy_until_ns) g LEFT JOIN capture c ON c.pid = "
     "g.pid WHERE c.pid IS NULL OR (c.start_ns < g.end_ns AND c.end_ns > g.start_ns)"}};

constexpr QueryExample kExamples[] = {
    {"Which kernels take most time?",
     "SELECT short_name, count(*) AS n, sum(duration_ns) AS ns FROM kernel GROUP BY 1 ORDER BY ns DESC LIMIT 10"},
    {"How long was each GPU idle between operations?",
     "SELECT device, count(*) AS gaps, sum(duration_ns) AS idle_ns FROM gpu_gap GROUP BY device"},
    {"Before which operations was it idle longest?",
     "SELECT kind, name, function, nvtx_path, count(*) AS gaps, sum(duration_ns) AS idle_ns FROM gpu_gap GROUP BY 1, "
     "2, 3, 4 ORDER BY idle_ns DESC LIMIT 10"},
    {"Which copies are slow?",
     "SELECT direction, source_memory, count(*) AS n, sum(size_bytes) AS bytes, 1.0 * sum(size_bytes) / "
     "sum(duration_ns) AS gb_per_s FROM memcpy GROUP BY 1, 2"},
    {"What did the report make of the gaps?", "SELECT * FROM report_idle"}};

QueryTable TableOf(std::string_view name, std::string_view meaning, std::span<const std::string_view> columns) {
  return {std::string(name), std::string(meaning), {columns.begin(), columns.end()}};
}

}  // namespace

std::span<const QueryView> QueryViews() { return kViews; }

std::span<const QueryExample> QueryExamples() { return kExamples; }

FactSet FactsOfTable(std::string_view table) {
  const auto* found = std::ranges::find(kFactsOfTables, table, &TableFacts::table);
  return found == std::end(kFactsOfTables) ? FactSet::None() : found->facts;
}

std::vector<QueryTable> QueryTables(const Trace* trace) {
  std::vector<QueryTable> tables;
  for (const RecordTable& table : AllRecordTables())
    tables.push_back(TableOf(table.name, table.meaning, table.columns));
  QueryDatabase database;
  for (const QueryView& view : QueryViews()) {
    QueryTable table{std::string(view.name), std::string(view.meaning), {}};
    database.Prepare("SELECT * FROM " + table.name);
    for (const std::string& column : database.Columns()) table.columns.push_back(column);
    tables.push_back(std::move(table));
  }
  if (trace == nullptr) return tables;
  for (const Table& found : TablesOfReport(*trace)) {
    QueryTable table{"report_" + found.id, found.title, {}};
    for (const Column& column : found.columns) table.columns.push_back(column.key);
    tables.push_back(std::move(table));
  }
  return tables;
}

}  // namespace gprof
