#include "report/answers/checks.h"

#include <algorithm>
#include <iterator>

namespace gprof {
namespace {

using enum Fact;

// What of the subject of a finding narrows the rows. Columns have the names of the tables of `query`.
enum class Filter : uint8_t { kNone, kKernel, kDirection, kFunction };

struct CheckInfo {
  std::string_view table;  // of the report
  std::string_view sql;    // {filter} becomes the condition that the rows are about the subject
  Filter filter;
  std::string_view what;
  FactSet more;
};

constexpr FactSet kOfHost = kCpuSamples | kHostWaits | kNvtx | kSwitches;
constexpr FactSet kOfKernels = kCounters | kShapes | kGpuMetrics;
constexpr FactSet kOfCopies = kMemoryKinds | kCopySizes | kSyncs;

constexpr std::string_view kSqlOfKernels =
    "SELECT short_name, count(*) AS kernels, sum(duration_ns) AS total_ns, min(duration_ns) AS min_ns, "
    "max(duration_ns) AS max_ns FROM kernel WHERE {filter} GROUP BY 1 ORDER BY total_ns DESC";
constexpr std::string_view kOfAllKernels = "time and launches of these kernels, summed from their records";
constexpr std::string_view kSqlOfLaunches =
    "SELECT short_name, grid_x * grid_y * grid_z AS blocks, block_x * block_y * block_z AS threads, count(*) AS "
    "kernels, sum(duration_ns) AS total_ns FROM kernel WHERE {filter} GROUP BY 1, 2, 3 ORDER BY total_ns DESC";
constexpr std::string_view kSqlOfCopies =
    "SELECT direction, source_memory, destination_memory, count(*) AS copies, sum(size_bytes) AS bytes, "
    "sum(duration_ns) AS total_ns FROM memcpy WHERE {filter} GROUP BY 1, 2, 3 ORDER BY total_ns DESC";
constexpr std::string_view kOfAllCopies = "copies, bytes and time by direction and kind of memory";
constexpr std::string_view kSqlOfGaps =
    "SELECT device, count(*) AS gaps, sum(duration_ns) AS idle_ns, sum(max(0, min(end_ns, call_start_ns) - start_ns)) "
    "AS before_the_launch_call_ns FROM gpu_gap GROUP BY device";
constexpr std::string_view kSqlOfWaits =
    "SELECT function, sync_kind, count(*) AS waits, sum(duration_ns) AS total_ns FROM sync WHERE {filter} GROUP BY 1, "
    "2 ORDER BY total_ns DESC";
constexpr std::string_view kSqlOfOs =
    "SELECT function, object_kind, path, count(*) AS calls, sum(duration_ns) AS total_ns FROM os_call WHERE {filter} "
    "GROUP BY 1, 2, 3 ORDER BY total_ns DESC";
constexpr std::string_view kSqlOfCalls =
    "SELECT function, count(*) AS calls, sum(duration_ns) AS total_ns FROM api WHERE {filter} GROUP BY 1 ORDER BY "
    "total_ns DESC";
constexpr std::string_view kOfAllCalls = "calls of CUDA by function, with calls that CUDA made within them";
constexpr std::string_view kSqlOfStreams =
    "SELECT pid, device, stream, count(*) AS operations, sum(duration_ns) AS busy_ns, sum(kind = 'memcpy') AS copies "
    "FROM gpu_op GROUP BY 1, 2, 3 ORDER BY busy_ns DESC";
constexpr std::string_view kOfAllStreams = "operations and their time by stream; streams may run at the same time";

constexpr CheckInfo kChecks[] = {
    {"gaps", kSqlOfGaps, Filter::kNone,
     "idle time between GPU operations; the last column is the part before the call that ended each gap", kOfHost},
    {"kernels", kSqlOfKernels, Filter::kKernel, kOfAllKernels, kOfKernels},
    {"kernel_kinds", kSqlOfKernels, Filter::kKernel, kOfAllKernels, kOfKernels},
    {"critical_path", kSqlOfKernels, Filter::kKernel, kOfAllKernels, kOfKernels},
    {"kernel_launches", kSqlOfKernels, Filter::kKernel, kOfAllKernels, kOfHost},
    {"occupancy", kSqlOfLaunches, Filter::kKernel, "blocks and threads of each launch", kOfKernels},
    {"kernel_lengths",
     "SELECT count(*) AS kernels, sum(duration_ns < 10000) AS below_10_us, sum(duration_ns) AS total_ns, "
     "sum(iif(duration_ns < 10000, duration_ns, 0)) AS total_below_10_us_ns FROM kernel",
     Filter::kNone, "how many kernels are shorter than 10 us, and their time", kOfHost},
    {"kernel_chains",
     "SELECT device, stream, count(*) AS kernels, sum(duration_ns) AS total_ns, avg(duration_ns) AS mean_ns FROM "
     "kernel GROUP BY 1, 2 ORDER BY kernels DESC",
     Filter::kNone, "kernels by stream: a chain is many short ones", kOfHost},
    {"memcpy", kSqlOfCopies, Filter::kDirection, kOfAllCopies, kOfCopies},
    {"pageable", kSqlOfCopies, Filter::kDirection, kOfAllCopies, kOfCopies},
    {"overlap", kSqlOfStreams, Filter::kNone, kOfAllStreams, kOfCopies},
    {"copy_sizes",
     "SELECT direction, count(*) AS copies, sum(size_bytes < 65536) AS below_64_kib, sum(duration_ns) AS total_ns FROM "
     "memcpy GROUP BY 1",
     Filter::kNone, "how many copies are smaller than 64 KiB", kOfCopies},
    {"streams", kSqlOfStreams, Filter::kNone, kOfAllStreams, kStreamsMade},
    {"serialised", kSqlOfStreams, Filter::kNone, kOfAllStreams, kStreamsMade},
    {"stream_waits", kSqlOfWaits, Filter::kFunction, "waits by function", kEvents},
    {"sync", kSqlOfWaits, Filter::kFunction, "waits of the host by function", kOfHost},
    {"sync_sites", kSqlOfWaits, Filter::kFunction, "waits of the host by function", kOfHost},
    {"polling", kSqlOfCalls, Filter::kFunction, kOfAllCalls, kOfHost},
    {"api", kSqlOfCalls, Filter::kFunction, kOfAllCalls, kOfHost},
    {"api_errors",
     "SELECT function, result, count(*) AS calls FROM api WHERE result != 0 GROUP BY 1, 2 ORDER BY calls DESC",
     Filter::kNone, "calls of CUDA that returned an error, by its number", kResults},
    {"graph_calls", kSqlOfCalls, Filter::kFunction, kOfAllCalls, kGraphNodes},
    {"graphs",
     "SELECT graph, count(*) AS launches, sum(duration_ns) AS total_ns FROM graph_launch GROUP BY 1 ORDER BY total_ns "
     "DESC",
     Filter::kNone, "launches of CUDA graphs that were recorded as a whole", kGraphNodes},
    {"memory_churn",
     "SELECT operation, memory, count(*) AS calls, sum(size_bytes) AS bytes FROM memory GROUP BY 1, 2 ORDER BY calls "
     "DESC",
     Filter::kNone, "allocations and frees by kind of memory", kOfHost},
    {"managed_memory",
     "SELECT managed_kind, count(*) AS events, sum(value) AS sum_of_values, sum(duration_ns) AS total_ns FROM "
     "managed_memory GROUP BY 1",
     Filter::kNone, "migrations (value: bytes) and page faults (value: how many)", kGpuPageFaults | kCpuPageFaults},
    {"os_files", kSqlOfOs, Filter::kFunction, "operating system calls that took long, by file", kOfHost},
    {"os_locks", kSqlOfOs, Filter::kFunction, "operating system calls that took long", kOfHost},
    {"os_slowest", kSqlOfOs, Filter::kFunction, "operating system calls that took long", kOfHost},
    {"os_sum", kSqlOfOs, Filter::kFunction, "operating system calls that took long", kOfHost},
    {"threads",
     "SELECT tid, is_preempted, count(*) AS times, sum(duration_ns) AS off_cpu_ns FROM switch GROUP BY 1, 2 ORDER BY "
     "off_cpu_ns DESC",
     Filter::kNone, "how long each thread was off the processor, and whether another one took it", kSwitches},
    {"gemms",
     "SELECT function, m, n, k, batch, a_type, compute_type, count(*) AS calls FROM gemm GROUP BY 1, 2, 3, 4, 5, 6, 7 "
     "ORDER BY calls DESC",
     Filter::kNone, "matrix multiplications by size and type", kOfKernels},
    {"counters",
     "SELECT name, metric, unit, avg(value) AS mean FROM counter_values WHERE value IS NOT NULL GROUP BY 1, 2, 3",
     Filter::kNone, "counters of each kernel, means over its launches", kCounters},
    {"nccl",
     "SELECT short_name, device, count(*) AS kernels, sum(duration_ns) AS total_ns FROM kernel WHERE short_name LIKE "
     "'nccl%' GROUP BY 1, 2 ORDER BY total_ns DESC",
     Filter::kNone, "kernels of NCCL by GPU", kCollectives}};

std::string SqlText(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("''") : std::string(1, c);
  return quoted + "'";
}

// Names that are too long to be typed narrow nothing: the rows are then of all.
std::string ConditionOf(Filter filter, const Subject& subject) {
  constexpr std::size_t kLongestName = 200;
  const auto equal = [](const char* column, const std::string& name) {
    return name.empty() || name.size() > kLongestName ? std::string("true") : column + (" = " + SqlText(name));
  };
  if (filter == Filter::kDirection) return equal("direction", subject.direction);
  if (filter == Filter::kFunction) return equal("function", subject.function);
  if (filter == Filter::kNone || subject.kernel.empty() || subject.kernel.size() > kLongestName) return "true";
  return SqlText(subject.kernel) + " IN (name, short_name)";
}

}  // namespace

FindingCheck CheckOf(const Finding& finding, std::string_view table) {
  const auto* found = std::ranges::find(kChecks, table, &CheckInfo::table);
  if (found == std::end(kChecks)) {
    if (table.empty()) return {};
    return {"SELECT * FROM report_" + std::string(table), "the table of the report that it rests on"};
  }
  constexpr std::string_view kPlace = "{filter}", kWhere = " WHERE {filter}";
  std::string sql(found->sql);
  const std::string condition = ConditionOf(found->filter, finding.subject);
  if (condition == "true") {
    if (const std::size_t at = sql.find(kWhere); at != std::string::npos) sql.erase(at, kWhere.size());
  }
  if (const std::size_t at = sql.find(kPlace); at != std::string::npos) sql.replace(at, kPlace.size(), condition);
  return {std::move(sql), std::string(found->what), found->more};
}

}  // namespace gprof
