// What was sampled of GPUs while they were busy, idle, in a kernel and in a step.
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/idle/idle_parts.h"
#include "analysis/result/analyses.h"
#include "analysis/result/display_names.h"
#include "analysis/result/metrics.h"
#include "analysis/result/tables.h"
#include "analysis/tracks/metric_samples.h"
#include "analysis/tracks/sampled_states.h"

namespace gprof {
namespace {

// Busy, or idle for one of the causes.
constexpr uint32_t kBusyState = 0, kDeviceStates = 1 + static_cast<uint32_t>(kCauseCount);
constexpr uint32_t kMostKernels = 10;

std::string StateName(uint32_t state) {
  return state == kBusyState ? "busy" : "idle: " + std::string(InfoOf(static_cast<Cause>(state - 1)).name);
}

// f(index) for the sources of a device.
template <class F>
void ForEachSourceOf(const Trace& trace, uint32_t device, F&& f) {
  for (uint32_t i = 0; i < trace.metric_sources.size(); ++i) {
    const MetricSource& source = trace.metric_sources[i];
    const bool is_of_it = source.scope == trace::MetricScope::kDevice && source.device == device;
    if (is_of_it && !trace.SamplesOf(i).empty()) f(i);
  }
}

bool HasSource(const Trace& trace, uint32_t device) {
  bool has_one = false;
  ForEachSourceOf(trace, device, [&](uint32_t) { has_one = true; });
  return has_one;
}

std::optional<Interval> WindowOf(const Trace& trace, uint32_t device) {
  if (device == kNone || !HasWindow(trace, device)) return std::nullopt;
  if (!trace.device_windows.empty()) return trace.device_windows[device].time;
  const Trace::Slice ops = trace.device_ops[device];
  Interval window{trace.ops[ops.first].start_ns, INT64_MIN};
  for (uint32_t i = ops.first; i < ops.last; ++i) window.end_ns = std::max(window.end_ns, trace.ops[i].end_ns);
  return window;
}

// The window of a device without a hole: what is not idle is busy.
std::vector<StateInterval> DeviceStates(const AnalysisInput& input, uint32_t device, const Interval& window) {
  std::vector<StateInterval> states;
  int64_t at_ns = window.start_ns;
  ForEachIdlePart(input, device, [&](int64_t start_ns, int64_t end_ns, const Part& part) {
    if (start_ns > at_ns) states.push_back({at_ns, start_ns, kBusyState});
    states.push_back({start_ns, end_ns, 1 + static_cast<uint32_t>(part.cause)});
    at_ns = std::max(at_ns, end_ns);
  });
  if (window.end_ns > at_ns) states.push_back({at_ns, window.end_ns, kBusyState});
  return states;
}

// The kernels that took the most time of the device, and a state for all other work.
struct KernelStates {
  std::vector<uint32_t> groups;  // of each state but the last
  std::vector<StateInterval> intervals;
  uint32_t size() const { return static_cast<uint32_t>(groups.size()) + 1; }
};

KernelStates StatesOfKernels(const AnalysisInput& input, uint32_t device) {
  const Trace& trace = input.trace();
  const KernelGroups& kernels = input.shared().kernels();
  const Trace::Slice ops = trace.device_ops[device];
  std::vector<int64_t> total_ns(kernels.size());
  for (uint32_t i = ops.first; i < ops.last; ++i) {
    const GpuOp op = trace.ops[i];
    if (op.kind == OpKind::kKernel) total_ns[kernels.Of(op)] += op.DurationNs();
  }
  KernelStates out;
  for (uint32_t group = 0; group < kernels.size(); ++group) {
    if (total_ns[group] > 0) out.groups.push_back(group);
  }
  std::stable_sort(out.groups.begin(), out.groups.end(),
                   [&](uint32_t a, uint32_t b) { return total_ns[a] > total_ns[b]; });
  if (out.groups.size() > kMostKernels) out.groups.resize(kMostKernels);
  std::vector<uint32_t> state_of(kernels.size(), static_cast<uint32_t>(out.groups.size()));
  for (uint32_t state = 0; state < out.groups.size(); ++state) state_of[out.groups[state]] = state;
  for (uint32_t i = ops.first; i < ops.last; ++i) {
    const GpuOp op = trace.ops[i];
    const uint32_t state =
        op.kind == OpKind::kKernel ? state_of[kernels.Of(op)] : static_cast<uint32_t>(out.groups.size());
    out.intervals.push_back({op.start_ns, op.end_ns, state});
  }
  return out;
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

std::vector<Cell> RowOf(const Trace& trace, const MetricSource& source) {
  return {SampledThing(trace, source), std::string(trace.Text(source.name)), std::string(trace.Text(source.unit))};
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
  const std::optional<Interval> window = WindowOf(trace, device);
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
    const std::vector<Cell> row = RowOf(trace, source);
    const std::vector<StateMean> while_in = device_states.Means(source, trace.SamplesOf(i));
    for (uint32_t state = 0; state < kDeviceStates; ++state) {
      if (while_in[state].SaysSomething()) AddRow(row, while_in[state], StateName(state), &tables->states);
    }
    const std::vector<StateMean> in_kernels = kernel_states.Means(source, trace.SamplesOf(i));
    for (uint32_t state = 0; state < of_kernels.groups.size(); ++state) {
      if (!in_kernels[state].SaysSomething()) continue;
      AddRow(row, in_kernels[state], input.shared().kernels().Name(of_kernels.groups[state]), &tables->kernels);
    }
    if (step) AddStep(row, step_states.Means(source, trace.SamplesOf(i)), PathName(trace, step->path), &tables->steps);
  });
}

// ---- metrics ----

// What a metric is the mean, or the median, of: counters by their names in Nsight Systems, added up.
struct KnownCounter {
  std::string_view id;
  std::string_view names[2];
  bool is_median = false;
};
constexpr KnownCounter kKnownCounters[] = {
    {"gpu.sm_active_percent", {"SMs Active", ""}},
    {"gpu.sm_issue_percent", {"SM Issue", ""}},
    {"gpu.tensor_active_percent", {"Tensor Active", ""}},
    {"gpu.dram_percent", {"DRAM Read Bandwidth", "DRAM Write Bandwidth"}},
    {"gpu.clock_sm_mhz_p50", {"GPC Clock Frequency", ""}, true},
};

// Samples that begin in the window; those of a source come by start.
std::span<const MetricSample> Within(std::span<const MetricSample> samples, const Interval& window) {
  const auto is_before = [](const MetricSample& sample, int64_t time_ns) { return sample.start_ns < time_ns; };
  const auto first = std::lower_bound(samples.begin(), samples.end(), window.start_ns, is_before);
  return {first, std::lower_bound(first, samples.end(), window.end_ns, is_before)};
}

std::optional<double> ValueOf(const Trace& trace, uint32_t device, const Interval& window, const KnownCounter& known) {
  std::optional<double> value;
  ForEachSourceOf(trace, device, [&](uint32_t i) {
    const MetricSource& source = trace.metric_sources[i];
    const std::string_view name = trace.Text(source.name), unit = trace.Text(source.unit);
    const bool is_it = name == known.names[0] || (!known.names[1].empty() && name == known.names[1]);
    if (!is_it || unit != (known.is_median ? "MHz" : "%")) return;
    const std::span<const MetricSample> samples = Within(trace.SamplesOf(i), window);
    if (samples.empty()) return;
    const SampleStatistics statistics = StatisticsOf(source, samples);
    value = value.value_or(0) + (known.is_median ? statistics.p50 : statistics.mean);
  });
  return value;
}

// Of the whole trace: the mean over the devices that have it.
void AddMetrics(const Trace& trace, AnalysisResult* result) {
  for (const KnownCounter& known : kKnownCounters) {
    double sum = 0;
    int64_t count = 0;
    for (uint32_t device = 0; device < trace.devices.size(); ++device) {
      const std::optional<Interval> window = WindowOf(trace, device);
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
      std::vector<Cell> row = RowOf(trace, trace.metric_sources[i]);
      AddStatisticsCells(StatisticsOf(trace.metric_sources[i], trace.SamplesOf(i)), &row);
      tables.all.rows.push_back(std::move(row));
      has_any = true;
    });
  };
  for (uint32_t device = 0; device < trace.devices.size(); ++device) add_all(device);
  add_all(kNone);  // GPUs that the program did not use
  if (has_any) {
    AddMetrics(trace, &result);
    const std::optional<StepChoice> step = FindStep(input, options.step);
    for (uint32_t device = 0; device < trace.devices.size() && !options.is_brief; ++device) {
      if (HasSource(trace, device)) AddDevice(input, device, step, &tables);
    }
  }
  for (Table* table : {&tables.all, &tables.states, &tables.kernels, &tables.steps}) {
    CutRows(table, options.max_rows);
    result.tables.push_back(std::move(*table));
  }
  return result;
}

}  // namespace gprof
