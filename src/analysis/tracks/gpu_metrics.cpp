// What was sampled of GPUs while they were busy, idle, in a kernel, in an NVTX range, in a phase of their streams and
// in a step.
#include <algorithm>
#include <cmath>
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

// Counters of a device are sampled at the same times: which state each time is of is found once for all of them.
class SharedStates {
 public:
  SharedStates(const Trace& trace, std::vector<StateInterval> intervals, uint32_t count)
      : trace_(trace), intervals_(std::move(intervals)), count_(count) {}

  std::vector<SampleStatistics> Statistics(const MetricSource& source, std::span<const MetricSample> samples) {
    const auto is_same = [](const MetricSample& a, const MetricSample& b) {
      return a.start_ns == b.start_ns && a.end_ns == b.end_ns;
    };
    if (!std::equal(samples.begin(), samples.end(), times_.begin(), times_.end(), is_same)) {
      times_ = samples;
      states_ = StatesOf(samples, intervals_, count_, ClockErrorNs(trace_, source));
    }
    return StatisticsOfStates(source, samples, states_, count_);
  }

 private:
  const Trace& trace_;
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

// Not where it was measured in a better way as well.
bool IsShown(const Trace& trace, uint32_t index) {
  const MetricSource& source = trace.metric_sources[index];
  if (!HasMean(trace, source)) return false;
  return source.device == kNone ||
         FindSource(trace, source.device, trace.Text(source.name), trace.Text(source.unit)) == index;
}

// What was sampled, its distribution, and in what: a kernel, a range.
Table MakeTable(std::string id, std::string title, std::string note) {
  Table table{std::move(id),
              std::move(title),
              {{"device", "GPU", Unit::kText, false},
               {"metric", "Metric", Unit::kText, false},
               {"unit", "Unit", Unit::kText, false}},
              {},
              std::move(note),
              true};
  AddStatisticsColumns(Unit::kCount, &table);
  return table;
}

Table MakeTable(std::string id, std::string title, std::string note, Column in_what) {
  Table table = MakeTable(std::move(id), std::move(title), std::move(note));
  table.columns.push_back(std::move(in_what));
  return table;
}

struct Tables {
  Table all = MakeTable("gpu_metrics", "GPU metrics", "");
  Table states = MakeTable("gpu_metrics_states", "GPU metrics by GPU state",
                           "Busy, or idle by cause: samples that lie at least 90% within the state.",
                           {"state", "While", Unit::kText, false});
  Table kernels = MakeTable("gpu_metrics_kernels", "GPU metrics by kernel",
                            "Samples with the kernel running for at least 90% and any other kernel for at most 10% of "
                            "the time.",
                            {"kernel", "Kernel", Unit::kText, false});
  Table ranges = MakeTable("gpu_metrics_ranges", "GPU metrics by NVTX range",
                           "Samples between the first and the last operation that was launched in the range.",
                           {"range", "Range", Unit::kText, false});
  Table phases =
      MakeTable("gpu_metrics_streams", "GPU metrics by stream concurrency",
                "Streams with a kernel running, for at least 90% of the sample; + copies: a copy or fill beside them.",
                {"phase", "While", Unit::kText, false});
  Table steps = MakeTable("gpu_metrics_steps", "GPU metrics by step", "One value per step: its mean.",
                          {"range", "Step", Unit::kText, false});

  template <class F>
  void ForEach(F&& f) {
    for (Table* table : {&all, &states, &kernels, &ranges, &phases, &steps}) f(table);
  }
};

// The mean of each step is one value.
SampleStatistics OfSteps(const std::vector<SampleStatistics>& steps) {
  MetricSource micro;  // keeps fractions
  micro.scale = -6;
  std::vector<MetricSample> means;
  for (const SampleStatistics& step : steps) {
    if (SaysSomething(step)) means.push_back({0, 0, std::llround(step.mean * 1e6), 0});
  }
  return StatisticsOf(micro, means);
}

// The tables of one device, of one counter after the other.
class DeviceTables {
 public:
  DeviceTables(const AnalysisInput& input, uint32_t device, const Interval& window,
               const std::optional<StepChoice>& step, Tables* tables)
      : trace_(input.trace()),
        tables_(*tables),
        kernel_groups_(StatesOfKernels(input, device)),
        states_(trace_, DeviceStates(input, device, window), kDeviceStates),
        kernels_(trace_, kernel_groups_.intervals, kernel_groups_.size()),
        phases_(trace_, StreamPhases(input, device), kStreamPhases) {
    for (const uint32_t group : kernel_groups_.groups) kernel_names_.push_back(input.shared().kernels().Name(group));
    for (RangeOnGpu& range : RangesOnGpu(input, device))
      ranges_.emplace_back(PathName(trace_, range.path), SharedStates(trace_, std::move(range.intervals), 1));
    if (!step) return;
    step_name_ = PathName(trace_, step->path);
    std::vector<StateInterval> of_steps;
    for (const uint32_t index : step->ranges) {
      const NvtxRange range = trace_.ranges[index];
      of_steps.push_back({range.start_ns, range.end_ns, static_cast<uint32_t>(of_steps.size())});
    }
    const auto count = static_cast<uint32_t>(of_steps.size());
    steps_.emplace(trace_, std::move(of_steps), count);
  }

  void Add(uint32_t index) {
    const MetricSource& source = trace_.metric_sources[index];
    const std::span<const MetricSample> samples = trace_.SamplesOf(index);
    const std::vector<SampleStatistics> in_states = states_.Statistics(source, samples);
    for (uint32_t state = 0; state < kDeviceStates; ++state)
      AddRow(source, in_states[state], StateName(state), &tables_.states);
    const std::vector<SampleStatistics> in_kernels = kernels_.Statistics(source, samples);
    for (std::size_t kernel = 0; kernel < kernel_names_.size(); ++kernel)
      AddRow(source, in_kernels[kernel], kernel_names_[kernel], &tables_.kernels);
    const std::vector<SampleStatistics> in_phases = phases_.Statistics(source, samples);
    for (uint32_t phase = 0; phase < kStreamPhases; ++phase)
      AddRow(source, in_phases[phase], StreamPhaseName(phase), &tables_.phases);
    for (auto& [name, states] : ranges_) AddRow(source, states.Statistics(source, samples)[0], name, &tables_.ranges);
    if (!steps_) return;
    const SampleStatistics of_steps = OfSteps(steps_->Statistics(source, samples));
    if (of_steps.count > 0) AddCells(source, of_steps, step_name_, &tables_.steps);
  }

 private:
  void AddRow(const MetricSource& source, const SampleStatistics& statistics, const std::string& what, Table* table) {
    if (SaysSomething(statistics)) AddCells(source, statistics, what, table);
  }
  void AddCells(const MetricSource& source, SampleStatistics statistics, const std::string& what, Table* table) {
    std::vector<Cell> row = RowOf(trace_, source);
    Scale(UnitOf(trace_, source).factor, &statistics);
    AddStatisticsCells(statistics, &row);
    row.emplace_back(what);
    table->rows.push_back(std::move(row));
  }

  const Trace& trace_;
  Tables& tables_;
  KernelStates kernel_groups_;
  std::vector<std::string> kernel_names_;
  SharedStates states_, kernels_, phases_;
  std::vector<std::pair<std::string, SharedStates>> ranges_;
  std::optional<SharedStates> steps_;
  std::string step_name_;
};

void AddDevice(const AnalysisInput& input, uint32_t device, const std::optional<StepChoice>& step, Tables* tables) {
  const Trace& trace = input.trace();
  const std::optional<Interval> window = GpuWindow(trace, device);
  if (!window) return;
  DeviceTables of_device(input, device, *window, step, tables);
  ForEachSourceOf(trace, device, [&](uint32_t i) {
    if (IsShown(trace, i)) of_device.Add(i);
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
  AddGpuStateFindings(input, &result);
  if (has_any) AddMetrics(trace, &result);
  if (!options.is_brief) {
    const std::optional<StepChoice> step = has_any ? FindStep(input, options.step) : std::nullopt;
    for (uint32_t device = 0; device < trace.devices.size(); ++device) {
      if (HasSource(trace, device)) AddDevice(input, device, step, &tables);
    }
    AddEnergy(input, step ? &*step : nullptr, options.max_rows, &result);
  }
  tables.ForEach([&](Table* table) {
    CutRows(table, options.max_rows);
    result.tables.push_back(std::move(*table));
  });
  return result;
}

}  // namespace gprof
