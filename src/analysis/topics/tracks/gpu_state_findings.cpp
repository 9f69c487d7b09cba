#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/facts/operations/operations.h"
#include "analysis/facts/shared_facts.h"
#include "analysis/findings/finding_catalogue.h"
#include "analysis/result/display_names.h"
#include "analysis/result/metrics.h"
#include "analysis/topics/tracks/clock_limits.h"
#include "analysis/topics/tracks/gpu_states.h"
#include "analysis/topics/tracks/kernel_rate_findings.h"
#include "analysis/topics/tracks/metric_samples.h"
#include "base/units.h"

namespace gprof {
namespace {

constexpr double kMuchThrottledPercent = 5;  // of the GPU window
constexpr double kMuchPcieBytesPerSecond = 1e9;
constexpr double kLeastPciePercent = 1;  // of the GPU window
constexpr double kLooksBusyPercent = 90, kIsNotBusyPercent = 30;

double Percent(int64_t part, int64_t whole) {
  return whole <= 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(whole);
}

std::string PercentText(double percent) { return fmt::format("{:.0f}%", percent); }

// A device with samples, while they are looked at.
class SampledDevice {
 public:
  SampledDevice(const AnalysisInput& input, uint32_t device, const Interval& window, AnalysisResult* result)
      : input_(input), trace_(input.trace()), device_(device), window_(window), result_(result) {}

  int64_t throttled_ns() const { return throttled_ns_; }
  bool knows_throttling() const { return knows_throttling_; }
  std::optional<double> most_others() const { return most_others_; }

  void FindThrottling(Table* table);
  void FindPcieInGaps();
  void FindOthers();
  void FindSeemingWork();

 private:
  uint32_t Source(std::string_view name, std::string_view unit) const {
    return FindSource(trace_, device_, name, unit);
  }
  std::optional<double> Mean(uint32_t source) const {
    if (source == kNone) return std::nullopt;
    const std::span<const MetricSample> samples = SamplesWithin(trace_.SamplesOf(source), window_);
    if (samples.empty()) return std::nullopt;
    return StatisticsOf(trace_.metric_sources[source], samples).mean;
  }
  void Add(Finding finding) {
    finding.subject.device = Name();
    result_->findings.push_back(std::move(finding));
  }
  std::string Name() const { return DeviceScope(trace_, device_); }

  const AnalysisInput& input_;
  const Trace& trace_;
  uint32_t device_;
  Interval window_;
  AnalysisResult* result_;
  int64_t throttled_ns_ = 0;
  bool knows_throttling_ = false;
  std::optional<double> most_others_;
};

void SampledDevice::FindThrottling(Table* table) {
  const ClockLimits limits = FindClockLimits(input_, device_, window_);
  knows_throttling_ = limits.is_known;
  throttled_ns_ = limits.ThrottledNs(window_);
  AddClockLimits(trace_, device_, window_, limits, table);
  const double percent = Percent(throttled_ns_, window_.DurationNs());
  const auto add = [&](std::string_view id, double share, const std::string& message, int64_t cost_ns) {
    Finding finding = NewFinding(id, share);
    finding.message = message;
    if (limits.median_mhz > 0) {
      finding.message +=
          fmt::format("; SM clock median {:.0f} MHz, maximum {:.0f} MHz", limits.median_mhz, limits.most_mhz);
      finding.gain_ns = cost_ns;
      finding.basis = "assumes run time scales with the SM clock";
    }
    Add(std::move(finding));
  };
  if (percent >= kMuchThrottledPercent) {
    std::string parts;
    for (const ClockLimit& limit : limits.limits) {
      if (limit.kind == LimitKind::kSetting) continue;
      parts += fmt::format("{}{} {}", parts.empty() ? ": " : ", ", limit.name, FormatNs(limit.held_ns));
    }
    const std::string message = fmt::format("{}: clocks were throttled for {} ({} of the GPU window){}", Name(),
                                            FormatNs(throttled_ns_), PercentText(percent), parts);
    const int64_t cost_ns = limits.CostNs(LimitKind::kPower) + limits.CostNs(LimitKind::kHeat);
    if (limits.HeldNs(LimitKind::kPower) >= limits.HeldNs(LimitKind::kHeat)) {
      add("gpu.power_capped", percent, message, cost_ns);
    } else {
      add("gpu.clocks_fell", percent, message, cost_ns);
    }
  }
  const int64_t setting_ns = limits.HeldNs(LimitKind::kSetting), setting_cost_ns = limits.CostNs(LimitKind::kSetting);
  const double cost_percent = Percent(setting_cost_ns, window_.DurationNs());
  if (cost_percent < kMuchThrottledPercent) return;
  add("gpu.clocks_set", cost_percent,
      fmt::format("{}: settings kept the clocks below what the GPU can do for {} ({} of the GPU window)", Name(),
                  FormatNs(setting_ns), PercentText(Percent(setting_ns, window_.DurationNs()))),
      setting_cost_ns);
}

// Of each sample, the bytes per second that the recorded copies of the device moved in one direction.
std::vector<double> CopiedWithin(const Trace& trace, uint32_t device, std::span<const MetricSample> samples,
                                 Direction direction, int64_t clock_error_ns) {
  std::vector<double> copied(samples.size(), 0);
  for (const Operation operation : OperationsOf(trace, trace.device_ops[device])) {
    const GpuOp op = trace.ops[operation.index()];
    if (!op.IsCopy() || DirectionOf(op) != direction || op.DurationNs() <= 0) continue;
    auto at = std::ranges::partition_point(
        samples, [&](const MetricSample& sample) { return sample.end_ns + clock_error_ns <= op.start_ns; });
    for (; at != samples.end() && at->start_ns - clock_error_ns < op.end_ns; ++at) {
      const int64_t shared_ns =
          std::min(at->end_ns + clock_error_ns, op.end_ns) - std::max(at->start_ns - clock_error_ns, op.start_ns);
      const double share = static_cast<double>(shared_ns) / static_cast<double>(op.DurationNs());
      copied[static_cast<std::size_t>(at - samples.begin())] +=
          share * static_cast<double>(op.size_bytes) * 1e9 / static_cast<double>(at->end_ns - at->start_ns);
    }
  }
  return copied;
}

// Idle is when no recorded kernel, copy or fill runs, so that this is traffic of something else. A sample of NVML spans
// both, so what was copied in it is taken off.
void SampledDevice::FindPcieInGaps() {
  std::vector<StateInterval> states;
  double most = 0;
  int64_t busy_ns = 0;
  constexpr std::pair<std::string_view, Direction> kCounters[] = {{"PCIe RX Throughput", Direction::kH2d},
                                                                  {"PCIe TX Throughput", Direction::kD2h}};
  for (const auto& [name, direction] : kCounters) {
    const uint32_t source = Source(name, "bytes/s");
    if (source == kNone) continue;
    const std::span<const MetricSample> samples = SamplesWithin(trace_.SamplesOf(source), window_);
    const bool is_much = std::ranges::any_of(samples, [&](const MetricSample& sample) {
      return ScaledValue(trace_.metric_sources[source], sample.value) >= kMuchPcieBytesPerSecond;
    });
    if (!is_much) continue;
    if (states.empty()) states = DeviceStates(input_, device_, window_);
    const int64_t error_ns = ClockErrorNs(trace_, trace_.metric_sources[source]);
    const std::vector<uint32_t> state_of = StatesOf(samples, states, kDeviceStates, error_ns);
    const std::vector<double> copied = CopiedWithin(trace_, device_, samples, direction, error_ns);
    int64_t this_ns = 0;
    for (std::size_t i = 0; i < samples.size(); ++i) {
      const double value = ScaledValue(trace_.metric_sources[source], samples[i].value) - copied[i];
      if (state_of[i] == kNone || state_of[i] == kBusyState || value < kMuchPcieBytesPerSecond) continue;
      this_ns += samples[i].end_ns - samples[i].start_ns;
      most = std::max(most, value);
    }
    busy_ns = std::max(busy_ns, this_ns);
  }
  const double percent = Percent(busy_ns, window_.DurationNs());
  if (percent < kLeastPciePercent) return;
  Finding finding = NewFinding("gpu.pcie_in_gaps", percent);
  finding.message =
      fmt::format("{}: PCIe carried up to {}/s for {} while the GPU was idle and no recorded copy ran ({})", Name(),
                  FormatBytes(most), FormatNs(busy_ns),
                  trace_.Lacks(Fact::kManagedMemory) ? "other processes, or managed memory that was not recorded"
                  : trace_.managed_memory.empty()    ? "other processes"
                                                     : "managed memory or other processes");
  Add(std::move(finding));
}

// Where no process of the run is seen, NVML has other numbers for processes than we do, and who is who is not known.
void SampledDevice::FindOthers() {
  const uint32_t own = Source("processes of the run", ""), others = Source("other processes", "");
  if (own == kNone || others == kNone) return;
  const SampleStatistics of_run = StatisticsOf(trace_.metric_sources[own], trace_.SamplesOf(own));
  const std::span<const MetricSample> samples = trace_.SamplesOf(others);
  const SampleStatistics of_others = StatisticsOf(trace_.metric_sources[others], samples);
  if (of_run.max < 1) return;
  AddMetric(result_, "gpu.other_processes", of_others.max, Name());
  most_others_ = of_others.max;
  if (of_others.max < 1) return;
  Finding finding = NewFinding("gpu.other_processes");
  finding.message = fmt::format("{} was used by {} at the same time", Name(),
                                CountOf(static_cast<int64_t>(of_others.max), "other process", "other processes"));
  if (const uint32_t memory = Source("memory of other processes", "bytes"); memory != kNone) {
    const double bytes = StatisticsOf(trace_.metric_sources[memory], trace_.SamplesOf(memory)).max;
    if (bytes > 0) finding.message += fmt::format(", which held {} of its memory", FormatBytes(bytes));
  }
  Add(std::move(finding));
}

void SampledDevice::FindSeemingWork() {
  const std::optional<double> utilization = Mean(Source("utilization", "%")), active = Mean(Source("SMs Active", "%"));
  if (!utilization || !active || *utilization < kLooksBusyPercent || *active > kIsNotBusyPercent) return;
  Finding finding = NewFinding("gpu.looks_busy", 100 - *active);
  finding.message = fmt::format("{}: nvidia-smi shows {} utilisation, but on average only {} of the SMs had work",
                                Name(), PercentText(*utilization), PercentText(*active));
  Add(std::move(finding));
}

}  // namespace

void AddGpuStateFindings(const AnalysisInput& input, AnalysisResult* result) {
  const Trace& trace = input.trace();
  int64_t throttled_ns = 0;
  bool is_known = false;
  std::optional<double> most_others;
  Table clock_limits = ClockLimitsTable();
  for (uint32_t i = 0; i < trace.devices.size(); ++i) {
    const std::optional<Interval> window = HasSource(trace, i) ? GpuWindow(input, i) : std::nullopt;
    if (!window || window->DurationNs() <= 0) continue;
    SampledDevice device(input, i, *window, result);
    device.FindThrottling(&clock_limits);
    AddKernelFindings(input, i, *window, result);
    device.FindPcieInGaps();
    device.FindOthers();
    device.FindSeemingWork();
    if (device.most_others()) most_others = std::max(most_others.value_or(0), *device.most_others());
    if (!device.knows_throttling()) continue;
    is_known = true;
    throttled_ns += device.throttled_ns();
    AddMetric(result, "gpu.throttled_ns", static_cast<double>(device.throttled_ns()), DeviceScope(trace, i));
  }
  if (is_known) AddMetric(result, "gpu.throttled_ns", static_cast<double>(throttled_ns));
  if (most_others) AddMetric(result, "gpu.other_processes", *most_others);
  result->tables.push_back(std::move(clock_limits));
}

}  // namespace gprof
