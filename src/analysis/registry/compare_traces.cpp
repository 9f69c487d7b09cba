#include "analysis/registry/compare_traces.h"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <utility>

#include "analysis/findings/finding_catalogue.h"
#include "analysis/result/idle_causes.h"
#include "analysis/result/statistics.h"
#include "analysis/result/tables.h"
#include "analysis/topics/analyses.h"
#include "base/units.h"

namespace gprof {
namespace {

constexpr size_t kFewTraces = 4;  // too few for a deviation that means anything
constexpr int64_t kFewPercent = 10, kLeastPercent = 1, kDeviations = 5;

std::string RanksOf(const Trace& trace) {
  std::set<int32_t> ranks;
  for (const Process& process : trace.processes) {
    if (process.rank >= 0) ranks.insert(process.rank);
  }
  std::string text;
  for (auto at = ranks.begin(); at != ranks.end();) {
    const int32_t first = *at;
    int32_t last = first;
    while (++at != ranks.end() && *at == last + 1) ++last;
    text += (text.empty() ? "" : ", ") + std::to_string(first) + (last > first ? "-" + std::to_string(last) : "");
  }
  return text;
}

// Of an even number the lower middle and half of the way to the upper one.
int64_t MedianOf(std::vector<int64_t> values) {
  std::ranges::sort(values);
  const size_t middle = values.size() / 2;
  if (values.empty()) return 0;
  return values.size() % 2 == 1 ? values[middle] : values[middle - 1] + (values[middle] - values[middle - 1]) / 2;
}

template <class F>
std::vector<int64_t> ValuesOf(const std::vector<TraceSummary>& traces, F of) {
  std::vector<int64_t> values;
  for (const TraceSummary& t : traces) values.push_back(of(t));
  return values;
}

// What is above this is a straggler.
int64_t LimitOf(const std::vector<int64_t>& values) {
  const int64_t median = MedianOf(values);
  if (values.size() <= kFewTraces) return median + median / 100 * kFewPercent;
  std::vector<int64_t> deviations;
  for (const int64_t value : values) deviations.push_back(std::abs(value - median));
  return median + std::max(kDeviations * MedianOf(std::move(deviations)), median / 100 * kLeastPercent);
}

// File names alone where they tell the traces apart.
std::vector<std::string> NamesOf(const std::vector<TraceSummary>& traces) {
  std::vector<std::string> names;
  for (const TraceSummary& t : traces) names.push_back(t.path.substr(t.path.rfind('/') + 1));
  if (std::set<std::string>(names.begin(), names.end()).size() == names.size()) return names;
  names.clear();
  for (const TraceSummary& t : traces) names.push_back(t.path);
  return names;
}

int64_t WallNs(const TraceSummary& t) { return t.wall_ns; }
int64_t BusyNs(const TraceSummary& t) { return t.busy_ns; }
int64_t IdleNs(const TraceSummary& t) { return t.IdleNs(); }

// No value where there is nothing to have a share of.
Cell ShareOf(int64_t part, int64_t whole) { return whole == 0 ? Cell() : Cell(PercentOf(part, whole)); }

Table TracesTable(const std::vector<TraceSummary>& traces, const std::vector<std::string>& names, uint32_t max_rows) {
  Table table{"traces",
              "Traces",
              {{"trace", "Trace", Unit::kText, false},
               {"ranks", "Ranks", Unit::kText, true, ColumnRole::kCommon},
               {"wall_ns", "Wall time", Unit::kNs, false},
               {"busy_percent", "GPU busy", Unit::kPercent, false, ColumnRole::kOwn, "percent of the GPU windows"},
               {"idle_cause", "Main idle cause", Unit::kText, false, "the cause with the most idle time"},
               {"idle_cause_ns", "Idle time", Unit::kNs, false},
               {"kernels", "Kernels", Unit::kCount, false},
               {"complete", "Complete", Unit::kText, false},
               {"busy_ns", "Busy time", Unit::kNs, true},
               {"host", "Host", Unit::kText, true}},
              {},
              ""};
  for (size_t i = 0; i < traces.size(); ++i) {
    const TraceSummary& t = traces[i];
    std::vector<Cell> row = {names[i], t.ranks, t.wall_ns};
    row.push_back(ShareOf(t.busy_ns, t.window_ns));
    row.push_back(t.idle_cause.empty() ? Cell() : Cell(std::string(t.idle_cause)));
    row.push_back(t.idle_cause.empty() ? Cell() : Cell(t.idle_cause_ns));
    row.emplace_back(t.kernels);
    row.emplace_back(std::string(t.is_complete ? "yes" : "NO"));
    row.emplace_back(t.busy_ns);
    row.emplace_back(t.host);
    table.rows.push_back(std::move(row));
  }
  CutRows(&table, max_rows);
  return table;
}

std::vector<Cell> SpreadRow(const std::vector<TraceSummary>& traces, const std::vector<std::string>& names,
                            const char* what, int64_t (*of)(const TraceSummary&)) {
  const auto less = [of](const TraceSummary& a, const TraceSummary& b) { return of(a) < of(b); };
  const auto [min, max] = std::ranges::minmax_element(traces, less);
  const int64_t median = MedianOf(ValuesOf(traces, of));
  std::vector<Cell> row = {std::string(what), of(*min), median, of(*max)};
  row.push_back(ShareOf(of(*max) - of(*min), median));
  row.push_back(names[static_cast<size_t>(max - traces.begin())]);
  return row;
}

Table SpreadTable(const std::vector<TraceSummary>& traces, const std::vector<std::string>& names) {
  Table table{"spread",
              "Spread between traces",
              {{"what", "Metric", Unit::kText, false},
               {"min_ns", "Min", Unit::kNs, false, ColumnRole::kLeast},
               {"median_ns", "Median", Unit::kNs, false, ColumnRole::kMedian},
               {"max_ns", "Max", Unit::kNs, false, ColumnRole::kMost},
               {"spread_percent", "Spread", Unit::kPercent, false, ColumnRole::kOwn,
                "maximum minus minimum, in percent of the median"},
               {"max_trace", "Max in", Unit::kText, false}},
              {},
              ""};
  table.rows.push_back(SpreadRow(traces, names, "wall time", WallNs));
  table.rows.push_back(SpreadRow(traces, names, "GPU busy", BusyNs));
  table.rows.push_back(SpreadRow(traces, names, "GPU idle", IdleNs));
  return table;
}

std::string AboveMedian(const char* what, int64_t value_ns, int64_t median_ns) {
  return std::string(what) + " " + FormatNs(value_ns) + ", " +
         FormatPercent(PercentOf(value_ns - median_ns, median_ns)) + " above the median";
}

Finding FindingOf(const TraceSummary& t, const std::string& name, size_t traces, int64_t median_wall_ns,
                  int64_t median_busy_ns) {
  Finding finding = NewFinding("traces.straggler");
  finding.subject.trace = name;
  finding.message = name + (t.ranks.empty() ? "" : " (rank " + t.ranks + ")") + " is a straggler: ";
  if (t.is_wall_straggler) finding.message += AboveMedian("wall time", t.wall_ns, median_wall_ns);
  if (t.is_busy_straggler) {
    finding.message += t.is_wall_straggler ? "; " : "";
    finding.message += AboveMedian("GPU busy", t.busy_ns, median_busy_ns);
  }
  finding.message += " of " + std::to_string(traces) + " traces";
  if (t.is_busy_straggler) {
    finding.advice =
        "Its GPUs have more work or run slower: compare its kernels with those of another trace, and distribute the "
        "work evenly.";
  }
  finding.gain_ns = t.is_wall_straggler ? t.wall_ns - median_wall_ns : t.busy_ns - median_busy_ns;
  finding.basis = t.is_wall_straggler ? "wall time above the median" : "GPU busy time above the median";
  return finding;
}

}  // namespace

TraceSummary SummarizeTrace(const AnalysisInput& input) {
  const AnalysisOptions options{.max_rows = 1};
  return SummarizeTrace(input.trace(), FindAnalysis("devices")->run(input, options),
                        FindAnalysis("idle")->run(input, options));
}

TraceSummary SummarizeTrace(const Trace& trace, const AnalysisResult& devices, const AnalysisResult& idle) {
  TraceSummary t;
  t.path = trace.path;
  t.ranks = RanksOf(trace);
  if (!trace.processes.empty()) t.host = trace.Text(trace.processes.front().host);
  t.wall_ns = trace.end_ns - trace.start_ns;
  t.window_ns = static_cast<int64_t>(TotalOf(devices, "gpu.window_ns").value_or(0));
  t.busy_ns = static_cast<int64_t>(TotalOf(devices, "gpu.busy_ns").value_or(0));
  if (t.IdleNs() > 0) {
    CauseSplit split;
    ForEachCause(
        [&](Cause cause) { split[cause] = static_cast<int64_t>(TotalOf(idle, InfoOf(cause).metric).value_or(0)); });
    t.idle_cause = InfoOf(split.Largest()).name;
    t.idle_cause_ns = split[split.Largest()];
  }
  t.kernels = std::ranges::count_if(trace.ops, [](const GpuOp& op) { return op.kind == OpKind::kKernel; });
  t.is_complete = trace.health.IsComplete();
  return t;
}

void FindStragglers(std::vector<TraceSummary>* traces) {
  if (traces->size() < 2) return;
  const int64_t wall_limit_ns = LimitOf(ValuesOf(*traces, WallNs)), busy_limit_ns = LimitOf(ValuesOf(*traces, BusyNs));
  for (TraceSummary& t : *traces) {
    t.is_wall_straggler = t.wall_ns > wall_limit_ns;
    t.is_busy_straggler = t.busy_ns > busy_limit_ns;
  }
}

AnalysisResult CompareTraces(const std::vector<TraceSummary>& traces, const AnalysisOptions& options) {
  AnalysisResult result;
  if (traces.empty()) return result;
  const std::vector<std::string> names = NamesOf(traces);
  result.tables = {TracesTable(traces, names, options.max_rows), SpreadTable(traces, names)};
  const int64_t median_wall_ns = MedianOf(ValuesOf(traces, WallNs)),
                median_busy_ns = MedianOf(ValuesOf(traces, BusyNs));
  for (size_t i = 0; i < traces.size(); ++i) {
    const TraceSummary& t = traces[i];
    if (!t.is_wall_straggler && !t.is_busy_straggler) continue;
    result.findings.push_back(FindingOf(t, names[i], traces.size(), median_wall_ns, median_busy_ns));
  }
  return result;
}

}  // namespace gprof
