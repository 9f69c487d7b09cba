// What was sampled of GPUs while they were busy, idle, in a kernel, in an NVTX range, in a phase of their streams and
// in a step.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/facts/shared_facts.h"
#include "analysis/facts/steps/step_finder.h"
#include "analysis/result/display_names.h"
#include "analysis/result/metrics.h"
#include "analysis/result/tables.h"
#include "analysis/topics/analyses.h"
#include "analysis/topics/tracks/gpu_energy.h"
#include "analysis/topics/tracks/gpu_states.h"
#include "analysis/topics/tracks/kernel_profiles.h"
#include "analysis/topics/tracks/kernel_rate_tables.h"
#include "analysis/topics/tracks/metric_samples.h"
#include "analysis/topics/tracks/sampled_states.h"

namespace gprof {
namespace {

// Sums that only grow and sets of bits have no mean.
bool HasMean(const Trace& trace, const MetricSource& source) {
  return source.metric_kind != trace::MetricKind::kCounter && trace.Text(source.unit) != "mask";
}

// Counters of a device are sampled at the same times: which state each time is of is found once for all of them.
class SharedStates {
 public:
  SharedStates(std::vector<StateInterval> intervals, uint32_t count)
      : intervals_(std::move(intervals)), count_(count) {}

  std::vector<SampleStatistics> Statistics(const Trace& trace, const MetricSource& source,
                                           std::span<const MetricSample> samples) {
    const auto is_same = [](const MetricSample& a, const MetricSample& b) {
      return a.start_ns == b.start_ns && a.end_ns == b.end_ns;
    };
    if (!std::equal(samples.begin(), samples.end(), times_.begin(), times_.end(), is_same)) {
      times_ = samples;
      states_ = StatesOf(samples, intervals_, count_, ClockErrorNs(trace, source));
    }
    return StatisticsOfStates(source, samples, states_, count_);
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

// Not where it was measured in a better way as well.
bool IsShown(const Trace& trace, uint32_t index) {
  const MetricSource& source = trace.metric_sources[index];
  if (!HasMean(trace, source) || trace.Text(source.origin) == "PyTorch") return false;  // has tables of its own
  return source.device == kNone ||
         FindSource(trace, source.device, trace.Text(source.name), trace.Text(source.unit)) == index;
}

// What work does not change, or not within its time.
constexpr std::string_view kOfTheWholeRun[] = {
    "memory clock", "temperature", "memory temperature",   "utilization",     "memory utilization",
    "memory used",  "power limit", "processes of the run", "other processes", "memory of other processes"};

void SortByPlace(const Trace& trace, std::vector<uint32_t>* sources) {
  std::ranges::stable_sort(*sources, [&](uint32_t a, uint32_t b) {
    return PlaceOfCounter(trace.Text(trace.metric_sources[a].name)) <
           PlaceOfCounter(trace.Text(trace.metric_sources[b].name));
  });
}

bool IsZero(std::span<const MetricSample> samples) {
  return std::ranges::all_of(samples, [](const MetricSample& sample) { return sample.value == 0; });
}

bool SaysSomethingOfWork(const Trace& trace, uint32_t index) {
  const MetricSource& source = trace.metric_sources[index];
  const std::string_view name = trace.Text(source.name);
  const bool is_of_run = std::ranges::find(kOfTheWholeRun, name) != std::end(kOfTheWholeRun);
  const bool is_known_better =
      name == "SM clock" && FindSource(trace, source.device, "GPC Clock Frequency", "MHz") != kNone;
  return IsShown(trace, index) && !is_of_run && !is_known_better && !IsZero(trace.SamplesOf(index));
}

// What was sampled, its distribution, and in what: a kernel, a range.
Table MakeTable(std::string id, std::string title, std::string note) {
  Table table{std::move(id),
              std::move(title),
              {{"device", "GPU", Unit::kText, false, ColumnRole::kOwn},
               {"metric", "Metric", Unit::kText, false},
               {"unit", "Unit", Unit::kText, false}},
              {},
              std::move(note),
              RowsOfRanks::kApart,
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
  Table kernels = KernelRatesTable();
  Table profiles = KernelProfilesTable();
  Table ranges = MakeTable("gpu_metrics_ranges", "GPU metrics by NVTX range",
                           "Samples between the first and the last operation that was launched in the range.",
                           {"range", "Range", Unit::kText, false});
  Table streams = MakeTable(
      "gpu_metrics_streams", "GPU metrics by stream concurrency",
      "Streams with a kernel running for at least 90% of the sample; + copies: with a copy or memset at the same time.",
      {"phase", "While", Unit::kText, false});
  Table steps = MakeTable("gpu_metrics_steps", "GPU metrics by step", "One value per step: its mean.",
                          {"range", "Step", Unit::kText, false});

  template <class F>
  void ForEach(F&& f) {
    for (Table* table : {&all, &states, &kernels, &profiles, &ranges, &streams, &steps}) f(table);
  }
};

// Each mean is one value.
SampleStatistics OfMeans(const std::vector<SampleStatistics>& steps) {
  MetricSource micro;  // keeps fractions
  micro.scale = -6;
  std::vector<MetricSample> means;
  for (const SampleStatistics& step : steps) {
    if (SaysSomething(step)) means.push_back({0, 0, std::llround(step.mean * 1e6), 0});
  }
  return StatisticsOf(micro, means);
}

std::vector<Cell> RowOf(const Trace& trace, const MetricSource& source, SampleStatistics statistics,
                        const std::string& in_what) {
  std::vector<Cell> row = RowOf(trace, source);
  Scale(UnitOf(trace, source).factor, &statistics);
  AddStatisticsCells(statistics, &row);
  row.emplace_back(in_what);
  return row;
}

// Time divided into states, of which the first ones have names and rows: all counters of one state stand together.
class Division {
 public:
  Division(std::vector<StateInterval> intervals, uint32_t state_count, std::vector<std::string> names)
      : states_(std::move(intervals), state_count), names_(std::move(names)), rows_(names_.size()) {}

  void Add(const Trace& trace, uint32_t index) {
    const MetricSource& source = trace.metric_sources[index];
    const std::vector<SampleStatistics> statistics = states_.Statistics(trace, source, trace.SamplesOf(index));
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (SaysSomething(statistics[i])) rows_[i].push_back(RowOf(trace, source, statistics[i], names_[i]));
    }
  }
  void MoveTo(Table* table) {
    for (auto& of_state : rows_) std::move(of_state.begin(), of_state.end(), std::back_inserter(table->rows));
  }

 private:
  SharedStates states_;
  std::vector<std::string> names_;
  std::vector<std::vector<std::vector<Cell>>> rows_;
};

template <class Name>
std::vector<std::string> NamesOf(uint32_t count, Name&& name) {
  std::vector<std::string> names;
  for (uint32_t i = 0; i < count; ++i) names.push_back(name(i));
  return names;
}

Division OfStates(const AnalysisInput& input, uint32_t device, const Interval& window) {
  return {DeviceStates(input, device, window), kDeviceStates, NamesOf(kDeviceStates, StateName)};
}

Division OfStreams(const AnalysisInput& input, uint32_t device) {
  return {StreamPhases(input, device), kStreamPhases, NamesOf(kStreamPhases, StreamPhaseName)};
}

SharedStates OfSteps(const Trace& trace, const StepChoice& step) {
  std::vector<StateInterval> steps;
  for (const uint32_t index : step.ranges) {
    const NvtxRange range = trace.ranges[index];
    steps.push_back({range.start_ns, range.end_ns, static_cast<uint32_t>(steps.size())});
  }
  const auto count = static_cast<uint32_t>(steps.size());
  return {std::move(steps), count};
}

void AddDevice(const AnalysisInput& input, uint32_t device, const std::optional<StepChoice>& step, Tables* tables) {
  const Trace& trace = input.trace();
  const std::optional<Interval> window = GpuWindow(input, device);
  if (!window) return;
  std::vector<uint32_t> sources;
  ForEachSourceOf(trace, device, [&](uint32_t i) {
    if (SaysSomethingOfWork(trace, i)) sources.push_back(i);
  });
  SortByPlace(trace, &sources);
  const auto add = [&](Division division, Table* table) {
    for (const uint32_t i : sources) division.Add(trace, i);
    division.MoveTo(table);
  };
  add(OfStates(input, device, *window), &tables->states);
  AddKernelRates(input, device, &tables->kernels);
  for (RangeOnGpu& range : RangesOnGpu(input, device))
    add({std::move(range.intervals), 1, {PathName(trace, range.path)}}, &tables->ranges);
  add(OfStreams(input, device), &tables->streams);
  if (!step) return;
  SharedStates steps = OfSteps(trace, *step);
  for (const uint32_t i : sources) {
    const MetricSource& source = trace.metric_sources[i];
    const SampleStatistics means = OfMeans(steps.Statistics(trace, source, trace.SamplesOf(i)));
    if (means.count > 0) tables->steps.rows.push_back(RowOf(trace, source, means, PathName(trace, step->path)));
  }
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
void AddMetrics(const AnalysisInput& input, AnalysisResult* result) {
  const Trace& trace = input.trace();
  for (const KnownCounter& known : kKnownCounters) {
    double sum = 0;
    int64_t count = 0;
    for (uint32_t device = 0; device < trace.devices.size(); ++device) {
      const std::optional<Interval> window = GpuWindow(input, device);
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
    std::vector<uint32_t> sources;
    ForEachSourceOf(trace, device, [&](uint32_t i) {
      has_any = true;
      if (IsShown(trace, i)) sources.push_back(i);
    });
    SortByPlace(trace, &sources);
    for (const uint32_t i : sources) {
      const MetricSource& source = trace.metric_sources[i];
      std::vector<Cell> row = RowOf(trace, source);
      SampleStatistics statistics = StatisticsOf(source, trace.SamplesOf(i));
      Scale(UnitOf(trace, source).factor, &statistics);
      AddStatisticsCells(statistics, &row);
      tables.all.rows.push_back(std::move(row));
    }
  };
  for (uint32_t device = 0; device < trace.devices.size(); ++device) add_all(device);
  add_all(kNone);  // GPUs that the program did not use
  AddGpuStateFindings(input, &result);
  if (has_any) AddMetrics(input, &result);
  for (uint32_t device = 0; device < trace.devices.size(); ++device) {
    if (const std::optional<Interval> window = GpuWindow(input, device))
      AddKernelProfiles(input, device, *window, &tables.profiles, &result);
  }
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
