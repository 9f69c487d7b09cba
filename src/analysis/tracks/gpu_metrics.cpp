// What was sampled of GPUs while they were busy, idle, in a kernel and in a step.
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/facts/shared_facts.h"
#include "analysis/ranges/step_finder.h"
#include "analysis/result/analyses.h"
#include "analysis/result/display_names.h"
#include "analysis/result/metrics.h"
#include "analysis/result/tables.h"
#include "analysis/tracks/gpu_energy.h"
#include "analysis/tracks/gpu_state_findings.h"
#include "analysis/tracks/gpu_states.h"
#include "analysis/tracks/metric_samples.h"
#include "analysis/tracks/sampled_states.h"

namespace gprof {
namespace {

// Sums that only grow and sets of bits have no mean.
bool HasMean(const Trace& trace, const MetricSource& source) {
  return source.metric_kind != trace::MetricKind::kCounter && trace.Text(source.unit) != "mask";
}

bool HasSource(const Trace& trace, uint32_t device) {
  bool has_one = false;
  ForEachSourceOf(trace, device, [&](uint32_t) { has_one = true; });
  return has_one;
}

// Counters of a device are sampled at the same times: which state each time is of is found once for all of them.
class SharedStates {
 public:
  SharedStates(std::vector<StateInterval> intervals, uint32_t count)
      : intervals_(std::move(intervals)), count_(count) {}

  std::vector<StateMean> Means(const MetricSource& source, std::span<const MetricSample> samples) {
    const auto is_same = [](const MetricSample& a, const MetricSample& b) {
      return a.start_ns == b.start_ns && a.end_ns == b.end_ns;
    };
    if (!std::equal(samples.begin(), samples.end(), times_.begin(), times_.end(), is_same)) {
      times_ = samples;
      states_ = StatesOf(samples, intervals_, count_);
    }
    return MeansOf(source, samples, states_, count_);
  }

 private:
  std::vector<StateInterval> intervals_;
  uint32_t count_;
  std::span<const MetricSample> times_;
  std::vector<uint32_t> states_;
};

// Bytes and events are shown in millions.
struct ShownUnit {
  std::string text;
  double factor = 1;
};
ShownUnit UnitOf(const Trace& trace, const MetricSource& source) {
  constexpr double kMillionth = 1e-6;
  const std::string_view unit = trace.Text(source.unit);
  if (unit == "bytes") return {"MB", kMillionth};
  if (unit == "bytes/s") return {"MB/s", kMillionth};
  if (unit == "1/s") return {"M/s", kMillionth};
  return {std::string(unit)};
}

std::vector<Cell> RowOf(const Trace& trace, const MetricSource& source) {
  return {SampledThing(trace, source), std::string(trace.Text(source.name)), UnitOf(trace, source).text};
}

void Scale(double factor, SampleStatistics* statistics) {
  for (double* value : {&statistics->min, &statistics->mean, &statistics->p50, &statistics->p95, &statistics->max})
    *value *= factor;
}

std::vector<StateMean> Scaled(double factor, std::vector<StateMean> means) {
  for (StateMean& mean : means) mean.mean *= factor;
  return means;
}

// Not where it was measured in a better way as well.
bool IsShown(const Trace& trace, uint32_t index) {
  const MetricSource& source = trace.metric_sources[index];
  if (!HasMean(trace, source)) return false;
  return source.device == kNone ||
         FindSource(trace, source.device, trace.Text(source.name), trace.Text(source.unit)) == index;
}

Table MakeTable(std::string id, std::string title, std::string note) {
  return {std::move(id),
          std::move(title),
          {{"device", "GPU", Unit::kText, false},
           {"metric", "Metric", Unit::kText, false},
           {"unit", "Unit", Unit::kText, false}},
          {},
          std::move(note),
          true};
}

struct Tables {
  Table all = MakeTable("gpu_metrics", "GPU metrics", "");
  Table states = MakeTable("gpu_metrics_states", "GPU metrics by GPU state",
                           "Busy, or idle by cause. Means of the samples that lie at least 90% within the state.");
  Table kernels = MakeTable("gpu_metrics_kernels", "GPU metrics by kernel",
                            "Means of the samples with the kernel running for at least 90% and any other kernel for at "
                            "most 10% of the time.");
  Table steps = MakeTable("gpu_metrics_steps", "GPU metrics by step",
                          "Means of the samples within a step; minimum and maximum over the steps.");

  Tables() {
    AddStatisticsColumns(Unit::kCount, &all);
    for (Table* table : {&states, &kernels}) {
      table->columns.push_back({"samples", "Samples", Unit::kCount, false});
      table->columns.push_back({"mean", "Mean", Unit::kCount, false});
    }
    states.columns.push_back({"state", "While", Unit::kText, false});
    kernels.columns.push_back({"kernel", "Kernel", Unit::kText, false});
    steps.columns.push_back({"steps", "Steps", Unit::kCount, false});
    steps.columns.push_back({"mean", "Mean", Unit::kCount, false});
    steps.columns.push_back({"min", "Min", Unit::kCount, false});
    steps.columns.push_back({"max", "Max", Unit::kCount, false});
    steps.columns.push_back({"range", "Step", Unit::kText, false});
  }
};

void AddRow(std::vector<Cell> row, const StateMean& mean, std::string what, Table* table) {
  row.emplace_back(mean.samples);
  row.emplace_back(mean.mean);
  row.emplace_back(std::move(what));
  table->rows.push_back(std::move(row));
}

void AddStep(std::vector<Cell> row, const std::vector<StateMean>& steps, std::string path, Table* table) {
  double sum = 0, least = 0, most = 0;
  int64_t count = 0;
  for (const StateMean& step : steps) {
    if (!step.SaysSomething()) continue;
    least = count == 0 ? step.mean : std::min(least, step.mean);
    most = count == 0 ? step.mean : std::max(most, step.mean);
    sum += step.mean;
    ++count;
  }
  if (count == 0) return;
  row.emplace_back(count);
  for (const double value : {sum / static_cast<double>(count), least, most}) row.emplace_back(value);
  row.emplace_back(std::move(path));
  table->rows.push_back(std::move(row));
}

void AddDevice(const AnalysisInput& input, uint32_t device, const std::optional<StepChoice>& step, Tables* tables) {
  const Trace& trace = input.trace();
  const std::optional<Interval> window = GpuWindow(trace, device);
  if (!window) return;
  SharedStates device_states(DeviceStates(input, device, *window), kDeviceStates);
  const KernelStates of_kernels = StatesOfKernels(input, device);
  SharedStates kernel_states(of_kernels.intervals, of_kernels.size());
  std::vector<StateInterval> of_steps;
  for (std::size_t i = 0; step && i < step->ranges.size(); ++i) {
    const NvtxRange range = trace.ranges[step->ranges[i]];
    of_steps.push_back({range.start_ns, range.end_ns, static_cast<uint32_t>(i)});
  }
  const auto step_count = static_cast<uint32_t>(of_steps.size());
  SharedStates step_states(std::move(of_steps), step_count);
  ForEachSourceOf(trace, device, [&](uint32_t i) {
    const MetricSource& source = trace.metric_sources[i];
    if (!IsShown(trace, i)) return;
    const std::vector<Cell> row = RowOf(trace, source);
    const double factor = UnitOf(trace, source).factor;
    const std::vector<StateMean> while_in = Scaled(factor, device_states.Means(source, trace.SamplesOf(i)));
    for (uint32_t state = 0; state < kDeviceStates; ++state) {
      if (while_in[state].SaysSomething()) AddRow(row, while_in[state], StateName(state), &tables->states);
    }
    const std::vector<StateMean> in_kernels = Scaled(factor, kernel_states.Means(source, trace.SamplesOf(i)));
    for (uint32_t state = 0; state < of_kernels.groups.size(); ++state) {
      if (!in_kernels[state].SaysSomething()) continue;
      AddRow(row, in_kernels[state], input.shared().kernels().Name(of_kernels.groups[state]), &tables->kernels);
    }
    if (step)
      AddStep(row, Scaled(factor, step_states.Means(source, trace.SamplesOf(i))), PathName(trace, step->path),
              &tables->steps);
  });
}

// ---- metrics ----

// What a metric is the mean, or the median, of: counters by their names in Nsight Systems, added up, or the one that
// stands for them where those are lacking.
struct KnownCounter {
  std::string_view id;
  std::string_view names[2];
  std::string_view instead{};
  std::string_view unit = "%";
  bool is_median = false;
};
constexpr KnownCounter kKnownCounters[] = {
    {"gpu.sm_active_percent", {"SMs Active", ""}},
    {"gpu.sm_issue_percent", {"SM Issue", ""}},
    {"gpu.tensor_active_percent", {"Tensor Active", ""}},
    {"gpu.dram_percent", {"DRAM Read Bandwidth", "DRAM Write Bandwidth"}, "DRAM Bandwidth"},
    {"gpu.clock_sm_mhz_p50", {"GPC Clock Frequency", ""}, "SM clock", "MHz", true},
};

std::optional<double> ValueOf(const Trace& trace, uint32_t device, const Interval& window, const KnownCounter& known) {
  std::optional<double> value;
  const auto add = [&](std::string_view name) {
    const uint32_t source = name.empty() ? kNone : FindSource(trace, device, name, known.unit);
    if (source == kNone) return;
    const std::span<const MetricSample> samples = SamplesWithin(trace.SamplesOf(source), window);
    if (samples.empty()) return;
    const SampleStatistics statistics = StatisticsOf(trace.metric_sources[source], samples);
    value = value.value_or(0) + (known.is_median ? statistics.p50 : statistics.mean);
  };
  for (const std::string_view name : known.names) add(name);
  if (!value) add(known.instead);
  return value;
}

// Of the whole trace: the mean over the devices that have it.
void AddMetrics(const Trace& trace, AnalysisResult* result) {
  for (const KnownCounter& known : kKnownCounters) {
    double sum = 0;
    int64_t count = 0;
    for (uint32_t device = 0; device < trace.devices.size(); ++device) {
      const std::optional<Interval> window = GpuWindow(trace, device);
      const std::optional<double> value = window ? ValueOf(trace, device, *window, known) : std::nullopt;
      if (!value) continue;
      AddMetric(result, known.id, *value, DeviceScope(trace, device));
      sum += *value;
      ++count;
    }
    if (count > 0) AddMetric(result, known.id, sum / static_cast<double>(count));
  }
}

}  // namespace

AnalysisResult RunGpuMetrics(const AnalysisInput& input, const AnalysisOptions& options) {
  const Trace& trace = input.trace();
  AnalysisResult result;
  Tables tables;
  bool has_any = false;
  const auto add_all = [&](uint32_t device) {
    ForEachSourceOf(trace, device, [&](uint32_t i) {
      has_any = true;
      const MetricSource& source = trace.metric_sources[i];
      if (!IsShown(trace, i)) return;
      std::vector<Cell> row = RowOf(trace, source);
      SampleStatistics statistics = StatisticsOf(source, trace.SamplesOf(i));
      Scale(UnitOf(trace, source).factor, &statistics);
      AddStatisticsCells(statistics, &row);
      tables.all.rows.push_back(std::move(row));
    });
  };
  for (uint32_t device = 0; device < trace.devices.size(); ++device) add_all(device);
  add_all(kNone);  // GPUs that the program did not use
  if (has_any) {
    AddMetrics(trace, &result);
    AddGpuStateFindings(input, &result);
    const std::optional<StepChoice> step = FindStep(input, options.step);
    for (uint32_t device = 0; device < trace.devices.size() && !options.is_brief; ++device) {
      if (HasSource(trace, device)) AddDevice(input, device, step, &tables);
    }
    if (!options.is_brief) AddEnergy(input, step ? &*step : nullptr, options.max_rows, &result);
  }
  for (Table* table : {&tables.all, &tables.states, &tables.kernels, &tables.steps}) {
    CutRows(table, options.max_rows);
    result.tables.push_back(std::move(*table));
  }
  return result;
}

}  // namespace gprof
