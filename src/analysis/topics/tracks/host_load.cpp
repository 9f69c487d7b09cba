// The load of the host while the program ran: CPU, waiting for a CPU and memory of each process of the run, CPU and
// runnable threads of the machine, as the collector of `profile` samples them.
#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analysis/result/metrics.h"
#include "analysis/result/tables.h"
#include "analysis/topics/analyses.h"
#include "analysis/topics/tracks/metric_samples.h"

namespace gprof {
namespace {

// As src/collect/host/host_load_collector.cpp names them.
constexpr std::string_view kCpu = "CPU", kWait = "waiting for a CPU", kMemory = "resident memory";

bool IsOfProcess(const MetricSource& source) { return source.scope == trace::MetricScope::kProcess; }

// f(index) for the sources of the host, of processes and of threads.
template <class F>
void ForEachHostSource(const Trace& trace, F&& f) {
  for (uint32_t i = 0; i < trace.metric_sources.size(); ++i) {
    if (trace.metric_sources[i].scope != trace::MetricScope::kDevice && !trace.SamplesOf(i).empty()) f(i);
  }
}

template <class IsWanted>
Table LoadTable(const Trace& trace, std::string id, std::string title, Unit unit, IsWanted&& is_wanted) {
  Table table{std::move(id),
              std::move(title),
              {{"of", "Source", Unit::kText, false}, {"metric", "Metric", Unit::kText, false}},
              {},
              ""};
  if (unit == Unit::kCount) table.columns.push_back({"unit", "Unit", Unit::kText, false});
  AddStatisticsColumns(unit, &table);
  ForEachHostSource(trace, [&](uint32_t i) {
    const MetricSource& source = trace.metric_sources[i];
    const std::string_view name = trace.Text(source.name), unit_name = trace.Text(source.unit);
    if (!is_wanted(unit_name)) return;
    std::vector<Cell> row = {SampledThing(trace, source), std::string(name)};
    if (unit == Unit::kCount) row.emplace_back(std::string(unit_name));
    AddStatisticsCells(StatisticsOf(source, trace.SamplesOf(i)), &row);
    table.rows.push_back(std::move(row));
  });
  return table;
}

// The mean over the time from the first of the samples to the last, of all processes together: time without a sample of
// a process is time without that process.
struct Load {
  double percent_ns = 0;
  int64_t first_ns = INT64_MAX, last_ns = INT64_MIN;

  void Add(const MetricSource& source, std::span<const MetricSample> samples) {
    for (const MetricSample& s : samples) {
      percent_ns += ScaledValue(source, s.value) * static_cast<double>(s.end_ns - s.start_ns);
      first_ns = std::min(first_ns, s.start_ns);
      last_ns = std::max(last_ns, s.end_ns);
    }
  }
  bool IsKnown() const { return last_ns > first_ns; }
  double Percent() const { return percent_ns / static_cast<double>(last_ns - first_ns); }
};

void AddLoads(const Trace& trace, AnalysisResult* result) {
  Load cpu, wait, machine;
  ForEachHostSource(trace, [&](uint32_t i) {
    const MetricSource& source = trace.metric_sources[i];
    const std::string_view name = trace.Text(source.name);
    if (source.scope == trace::MetricScope::kThread) return;
    if (name == kCpu) (IsOfProcess(source) ? cpu : machine).Add(source, trace.SamplesOf(i));
    if (name == kWait && IsOfProcess(source)) wait.Add(source, trace.SamplesOf(i));
  });
  for (const auto& [id, load] :
       {std::pair{"host.cpu_percent", &cpu}, {"host.cpu_wait_percent", &wait}, {"host.machine_percent", &machine}}) {
    if (load->IsKnown()) AddMetric(result, id, load->Percent());
  }
}

// The largest sum of the memory of all processes: each has what it had when it was looked at last.
void AddMemoryPeak(const Trace& trace, AnalysisResult* result) {
  struct Step {
    int64_t time_ns;
    double change;
  };
  std::vector<Step> steps;
  ForEachHostSource(trace, [&](uint32_t i) {
    const MetricSource& source = trace.metric_sources[i];
    if (trace.Text(source.name) != kMemory || !IsOfProcess(source)) return;
    double before = 0;
    int64_t until_ns = INT64_MAX;
    for (const MetricSample& sample : trace.SamplesOf(i)) {
      const double now = ScaledValue(source, sample.value);
      steps.push_back({sample.start_ns, now - before});
      before = now;
      until_ns = EndOfSample(source, sample);
    }
    if (until_ns != INT64_MAX) steps.push_back({until_ns, -before});
  });
  if (steps.empty()) return;
  std::ranges::stable_sort(steps, {}, &Step::time_ns);
  double sum = 0, most = 0;
  for (std::size_t i = 0; i < steps.size();) {
    // All that changed at one time is one look.
    for (const int64_t time_ns = steps[i].time_ns; i < steps.size() && steps[i].time_ns == time_ns; ++i)
      sum += steps[i].change;
    most = std::max(most, sum);
  }
  AddMetric(result, "host.memory_peak_bytes", most);
}

}  // namespace

AnalysisResult RunHostLoad(const AnalysisInput& input, const AnalysisOptions& options) {
  const Trace& trace = input.trace();
  AnalysisResult result;
  AddLoads(trace, &result);
  AddMemoryPeak(trace, &result);
  const auto is_percent = [](std::string_view unit) { return unit == "%"; };
  const auto is_bytes = [](std::string_view unit) { return unit == "bytes"; };
  result.tables.push_back(LoadTable(trace, "host_load", "Host load", Unit::kPercent, is_percent));
  result.tables.back().note = "Process: 100% is one core. Host: 100% is all cores.";
  result.tables.push_back(LoadTable(trace, "host_memory", "Host memory", Unit::kBytes, is_bytes));
  result.tables.push_back(LoadTable(trace, "host_counts", "Other host counters", Unit::kCount,
                                    [&](std::string_view unit) { return !is_percent(unit) && !is_bytes(unit); }));
  for (Table& table : result.tables) {
    table.is_detail = true;
    CutRows(&table, options.max_rows);
  }
  return result;
}

}  // namespace gprof
