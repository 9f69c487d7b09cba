// Calls of MPI: by function, their messages, by rank, and the rank that the others wait for.
#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <span>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "analysis/facts/host/thread_waits.h"
#include "analysis/facts/operations/operations.h"
#include "analysis/facts/shared_facts.h"
#include "analysis/findings/finding_catalogue.h"
#include "analysis/result/display_names.h"
#include "analysis/result/metrics.h"
#include "analysis/result/statistics.h"
#include "analysis/result/tables.h"
#include "analysis/topics/analyses.h"
#include "analysis/topics/host/mpi_arrivals.h"
#include "base/saturate.h"
#include "base/units.h"

namespace gprof {
namespace {

struct GpuWork {
  SaturatingSum gpu_ns, bytes;
  int64_t copies = 0, kernels = 0;
  std::unordered_set<uint32_t> calls;
};

// The MPI call that a thread was in, kNone for none.
uint32_t MpiCallAt(const ThreadWaits& waits, uint32_t thread, int64_t time_ns) {
  const std::span<const ThreadWait> found = waits.Within(thread, time_ns, time_ns + 1);
  return !found.empty() && found.front().is_mpi ? found.front().call : kNone;
}

std::map<NameId, GpuWork> ByFunction(const AnalysisInput& input) {
  const Trace& trace = input.trace();
  const ThreadWaits& waits = input.shared().host().waits;
  std::map<NameId, GpuWork> functions;
  for (const Operation op : OperationsOf(trace)) {
    if (op.call() == kNone) continue;
    const Call call(trace.api_calls, op.call());
    const uint32_t mpi_call = MpiCallAt(waits, call.thread(), call.start_ns());
    if (mpi_call == kNone) continue;
    GpuWork& work = functions[trace.mpi_calls[mpi_call].function];
    work.gpu_ns += op.duration_ns();
    work.calls.insert(mpi_call);
    if (op.is_kernel()) {
      ++work.kernels;
    } else {
      ++work.copies;
      work.bytes += static_cast<int64_t>(std::min<uint64_t>(op.shared().size_bytes, INT64_MAX));
    }
  }
  return functions;
}

// By function. Without such work the table has no rows.
Table MpiGpuWorkTable(const AnalysisInput& input, uint32_t max_rows) {
  Table table{
      "mpi_gpu_work",
      "GPU work of MPI calls",
      {{"gpu_ns", "GPU time", Unit::kNs, false},
       {"copies", "Copies", Unit::kCount, false},
       {"bytes", "Copied", Unit::kBytes, false},
       {"kernels", "Kernels", Unit::kCount, false},
       {"calls", "Calls", Unit::kCount, false, "MPI calls with such work"},
       {"function", "Function", Unit::kText, false}},
      {},
      "Copies, fills and kernels that the MPI library started within its calls, to move or combine data in GPU memory.",
      RowsOfRanks::kAddUp};
  for (const auto& [function, work] : ByFunction(input)) {
    table.rows.push_back({int64_t{work.gpu_ns}, work.copies, int64_t{work.bytes}, work.kernels,
                          static_cast<int64_t>(work.calls.size()), std::string(input.trace().Text(function))});
  }
  SortAndCut(&table, 0, 5, max_rows);
  return table;
}

// Of the time from the first collective to the last, what the other ranks wait on average.
constexpr double kPercentOfLateRank = 5;

struct MpiTimes {
  std::vector<int64_t> durations_ns, message_bytes;
  int64_t sent_bytes = 0, received_bytes = 0, errors = 0;
};
using MpiFunctions = std::map<NameId, MpiTimes>;

int64_t MessageBytes(const MpiCall& call) {
  return static_cast<int64_t>(std::max(call.sent_bytes, call.received_bytes));
}

MpiFunctions ByFunction(const Trace& trace) {
  MpiFunctions functions;
  for (const MpiCall& call : trace.mpi_calls) {
    MpiTimes& function = functions[call.function];
    function.durations_ns.push_back(call.DurationNs());
    if (MessageBytes(call) > 0) function.message_bytes.push_back(MessageBytes(call));
    function.sent_bytes += static_cast<int64_t>(call.sent_bytes);
    function.received_bytes += static_cast<int64_t>(call.received_bytes);
    function.errors += call.error != 0;
  }
  return functions;
}

int64_t TimeOf(const MpiTimes& function) {
  return std::accumulate(function.durations_ns.begin(), function.durations_ns.end(), int64_t{0});
}

Table MpiSumTable(const Trace& trace, MpiFunctions& functions, const AnalysisOptions& options) {
  Table table{"mpi_sum",
              "MPI calls",
              TimeColumns(),
              {},
              "Percent of the time in all MPI calls, summed over all threads. Sent, received: sizes of the send and "
              "receive buffers.",
              RowsOfRanks::kAddUp};
  table.columns.push_back({"function", "Function", Unit::kText, false});
  table.columns.push_back({"sent_bytes", "Sent", Unit::kBytes, false});
  table.columns.push_back({"received_bytes", "Received", Unit::kBytes, false});
  table.columns.push_back({"errors", "Errors", Unit::kCount, true});
  AddHistogramColumn(options, "median_ns", &table);
  int64_t total_ns = 0;
  for (const auto& [name, function] : functions) total_ns += TimeOf(function);
  for (auto& [name, function] : functions) {
    const Statistics times = Summarize(function.durations_ns, SpreadFor(options));
    table.rows.push_back(TimeCells(times, total_ns));
    std::vector<Cell>& row = table.rows.back();
    row.emplace_back(std::string(trace.Text(name)));
    row.emplace_back(function.sent_bytes);
    row.emplace_back(function.received_bytes);
    row.emplace_back(function.errors);
    AddHistogramCell(options, times, &row);
  }
  SortAndCut(&table, kTotalNsColumn, kTimeColumnCount, options.max_rows);
  return table;
}

Table SizeTable(const Trace& trace, MpiFunctions& functions, const AnalysisOptions& options) {
  Table table{"mpi_sizes",
              "MPI message sizes",
              {{"total_bytes", "Total", Unit::kBytes, false},
               {"count", "Calls", Unit::kCount, false},
               {"mean_bytes", "Mean", Unit::kBytes, false, ColumnRole::kMean},
               {"median_bytes", "Median", Unit::kBytes, false, ColumnRole::kMedian},
               {"min_bytes", "Min", Unit::kBytes, true, ColumnRole::kLeast},
               {"max_bytes", "Max", Unit::kBytes, false, ColumnRole::kMost},
               {"function", "Function", Unit::kText, false}},
              {},
              "For each call, the larger of bytes sent and received; calls without data are excluded.",
              RowsOfRanks::kAddUp};
  AddHistogramColumn(options, "median_bytes", &table);
  for (auto& [name, function] : functions) {
    if (function.message_bytes.empty()) continue;
    const Statistics sizes = Summarize(function.message_bytes, SpreadFor(options));
    table.rows.push_back(
        {sizes.total, sizes.count, sizes.mean, sizes.median, sizes.min, sizes.max, std::string(trace.Text(name))});
    AddHistogramCell(options, sizes, &table.rows.back());
  }
  SortAndCut(&table, 0, 6, options.max_rows);
  return table;
}

std::string NameOfRank(const Trace& trace, uint32_t process) {
  const Process& p = trace.processes[process];
  return p.rank >= 0 ? "rank " + std::to_string(p.rank) : "process " + std::to_string(p.pid);
}

Table RankTable(const Trace& trace, const MpiLateness& lateness, uint32_t max_rows) {
  Table table{
      "mpi_ranks",
      "MPI by rank",
      {{"total_ns", "MPI time", Unit::kNs, false},
       {"calls", "Calls", Unit::kCount, false},
       {"rank", "Rank", Unit::kText, false},
       {"waited_ns", "Waited for others", Unit::kNs, false,
        "in collectives on MPI_COMM_WORLD, until the last rank had arrived; known if all ranks are in the trace"},
       {"last", "Last to arrive", Unit::kCount, false},
       {"held_up_ns", "Others waited", Unit::kNs, false, "summed over the other ranks when this one was last"},
       {"host", "Host", Unit::kText, true}},
      {},
      ""};
  struct MpiOfProcess {
    int64_t total_ns = 0, calls = 0;
  };
  std::map<uint32_t, MpiOfProcess> processes;
  for (const MpiCall& call : trace.mpi_calls) {
    if (call.process == kNone) continue;
    processes[call.process].total_ns += call.DurationNs();
    ++processes[call.process].calls;
  }
  for (const auto& [process, sum] : processes) {
    const auto known =
        std::ranges::find_if(lateness.ranks, [&](const MpiArrivals& rank) { return rank.process == process; });
    const bool is_known = known != lateness.ranks.end();
    table.rows.push_back({sum.total_ns, sum.calls, NameOfRank(trace, process),
                          is_known ? Cell(known->waited_ns) : Cell(), is_known ? Cell(known->last) : Cell(),
                          is_known ? Cell(known->held_up_ns) : Cell(),
                          std::string(trace.Text(trace.processes[process].host))});
  }
  SortAndCut(&table, 0, 2, max_rows);
  return table;
}

int64_t LateNs(const MpiLateness& lateness) {
  return std::accumulate(lateness.ranks.begin(), lateness.ranks.end(), int64_t{0},
                         [](int64_t sum, const MpiArrivals& rank) { return sum + rank.waited_ns; });
}

void AddMetrics(const Trace& trace, const MpiFunctions& functions, const MpiLateness& lateness,
                AnalysisResult* result) {
  int64_t calls = 0, call_ns = 0, sent_bytes = 0;
  for (const auto& [name, function] : functions) {
    const std::string scope = "mpi:" + std::string(trace.Text(name));
    const auto count = static_cast<int64_t>(function.durations_ns.size());
    AddMetric(result, "mpi.calls", count, scope);
    AddMetric(result, "mpi.call_ns", TimeOf(function), scope);
    AddMetric(result, "mpi.sent_bytes", function.sent_bytes, scope);
    calls += count;
    call_ns += TimeOf(function);
    sent_bytes += function.sent_bytes;
  }
  AddMetric(result, "mpi.calls", calls);
  AddMetric(result, "mpi.call_ns", call_ns);
  AddMetric(result, "mpi.sent_bytes", sent_bytes);
  if (lateness.collectives > 0) AddMetric(result, "mpi.late_ns", LateNs(lateness));
}

// Those that the others wait for half of the time that they wait at all, three at most.
std::vector<const MpiArrivals*> LateRanks(const MpiLateness& lateness) {
  constexpr size_t kMostNamed = 3;
  std::vector<const MpiArrivals*> late;
  for (const MpiArrivals& rank : lateness.ranks) late.push_back(&rank);
  std::ranges::stable_sort(late,
                           [](const MpiArrivals* a, const MpiArrivals* b) { return a->held_up_ns > b->held_up_ns; });
  size_t count = 0;
  for (int64_t named_ns = 0; 2 * named_ns < LateNs(lateness) && count < late.size(); ++count) {
    named_ns += late[count]->held_up_ns;
  }
  late.resize(count > kMostNamed ? 0 : count);
  return late;
}

std::vector<Finding> LateRankFindings(const Trace& trace, const MpiLateness& lateness) {
  const std::vector<const MpiArrivals*> late = LateRanks(lateness);
  if (late.empty()) return {};
  const auto others = static_cast<int64_t>(lateness.ranks.size()) - 1;
  int64_t last = 0, held_up_ns = 0;
  std::string names;
  for (size_t i = 0; i < late.size(); ++i) {
    last += late[i]->last, held_up_ns += late[i]->held_up_ns;
    names += (i == 0 ? "" : i + 1 < late.size() ? ", " : " and ") + NameOfRank(trace, late[i]->process);
  }
  const int64_t each_ns = held_up_ns / others;
  const double percent = PercentOf(each_ns, lateness.time.DurationNs());
  if (percent < kPercentOfLateRank) return {};
  Finding finding = NewFinding("mpi.late_rank", percent);
  finding.message = "MPI " + names + (late.size() == 1 ? " arrives" : " arrive") + " last in " + std::to_string(last) +
                    " of " + CountOf(lateness.collectives, "collective") + ": " +
                    (others == 1 ? "the other rank waits " : "the other " + std::to_string(others) + " ranks wait ") +
                    FormatNs(each_ns) + (others == 1 ? "" : " each on average") + ", " + FormatPercent(percent) +
                    " of " + FormatNs(lateness.time.DurationNs());
  finding.gain_ns = each_ns;
  finding.basis = "time the other ranks wait for it in collectives";
  return {finding};
}

}  // namespace

AnalysisResult RunMpi(const AnalysisInput& input, const AnalysisOptions& options) {
  const Trace& trace = input.trace();
  AnalysisResult result;
  if (trace.mpi_calls.empty()) return result;
  MpiFunctions functions = ByFunction(trace);
  const MpiLateness lateness = MpiLatenessOf(trace);
  AddMetrics(trace, functions, lateness, &result);
  result.tables.push_back(MpiSumTable(trace, functions, options));
  result.tables.push_back(SizeTable(trace, functions, options));
  result.tables.push_back(RankTable(trace, lateness, options.max_rows));
  if (Table work = MpiGpuWorkTable(input, options.max_rows); !work.rows.empty())
    result.tables.push_back(std::move(work));
  result.findings = LateRankFindings(trace, lateness);
  return result;
}

}  // namespace gprof
