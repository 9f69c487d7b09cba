// Calls of MPI: by function, their messages, by rank, and the rank that the others wait for.
#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "analysis/facts/statistics.h"
#include "analysis/findings/finding_catalogue.h"
#include "analysis/host/mpi_arrivals.h"
#include "analysis/host/mpi_gpu_work.h"
#include "analysis/result/analyses.h"
#include "analysis/result/display_names.h"
#include "analysis/result/metrics.h"
#include "analysis/result/tables.h"
#include "base/units.h"

namespace gprof {
namespace {

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
              "receive buffers."};
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
               {"mean_bytes", "Mean", Unit::kBytes, false},
               {"median_bytes", "Median", Unit::kBytes, false},
               {"min_bytes", "Min", Unit::kBytes, true},
               {"max_bytes", "Max", Unit::kBytes, false},
               {"function", "Function", Unit::kText, false}},
              {},
              "For each call, the larger of bytes sent and received; calls without data are excluded."};
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
  Table table{"mpi_ranks",
              "MPI by rank",
              {{"total_ns", "MPI time", Unit::kNs, false},
               {"calls", "Calls", Unit::kCount, false},
               {"rank", "Rank", Unit::kText, false},
               {"waited_ns", "Waited for others", Unit::kNs, false},
               {"last", "Last to arrive", Unit::kCount, false},
               {"held_up_ns", "Others waited", Unit::kNs, false},
               {"host", "Host", Unit::kText, true}},
              {},
              "Waited for others: in collectives on MPI_COMM_WORLD, until the last rank had arrived; known if all "
              "ranks are in the trace. Others waited: summed over the other ranks when this one was last."};
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
    const auto known = std::find_if(lateness.ranks.begin(), lateness.ranks.end(),
                                    [&](const MpiArrivals& rank) { return rank.process == process; });
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

// One rank that the others wait for most of the time that they wait at all.
std::vector<Finding> LateRankFindings(const Trace& trace, const MpiLateness& lateness) {
  if (lateness.collectives == 0) return {};
  const auto& ranks = lateness.ranks;
  const auto worst = std::max_element(ranks.begin(), ranks.end(), [](const MpiArrivals& a, const MpiArrivals& b) {
    return a.held_up_ns < b.held_up_ns;
  });
  const auto others = static_cast<int64_t>(ranks.size()) - 1;
  const int64_t each_ns = worst->held_up_ns / others;
  const double percent = PercentOf(each_ns, lateness.time.DurationNs());
  if (percent < kPercentOfLateRank || worst->held_up_ns * 2 < LateNs(lateness)) return {};
  Finding finding = NewFinding("mpi.late_rank", percent);
  finding.message = "MPI " + NameOfRank(trace, worst->process) + " arrives last in " + std::to_string(worst->last) +
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
