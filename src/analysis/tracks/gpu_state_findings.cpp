#include "analysis/tracks/gpu_state_findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/facts/operations.h"
#include "analysis/facts/shared_facts.h"
#include "analysis/result/display_names.h"
#include "analysis/result/finding_catalogue.h"
#include "analysis/result/metrics.h"
#include "analysis/tracks/gpu_states.h"
#include "analysis/tracks/metric_samples.h"
#include "base/units.h"

namespace gprof {
namespace {

// As src/collect/gpu/nvml.cpp names them.
struct Throttle {
  std::string_view counter, what;
  bool is_power;
};
constexpr Throttle kThrottles[] = {
    {"held down by power", "power limit", true},
    {"held down by heat", "heat", false},
    {"held down by heat, in hardware", "heat (hardware)", false},
    {"held down by power brake", "power brake", true},
};
// Bits of nvmlDeviceGetCurrentClocksEventReasons: power limit, hardware, heat, heat in hardware, power brake.
constexpr int64_t kHeldDownMask = 0x4 | 0x8 | 0x20 | 0x40 | 0x80;

constexpr double kMuchThrottledPercent = 5;  // of the GPU window
constexpr double kOccupiedPercent = 80, kWorkingPercent = 20, kTensorPercent = 20, kSomeDramPercent = 40;
constexpr double kMuchDramPercent = 70;
constexpr double kLeastKernelPercent = 10;  // of the GPU window
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

  void FindThrottling();
  void JudgeKernels();
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
  // Means in the states; empty without the source.
  std::vector<StateMean> Means(uint32_t source, const std::vector<StateInterval>& intervals, uint32_t count) const {
    if (source == kNone) return std::vector<StateMean>(count);
    const std::span<const MetricSample> samples = trace_.SamplesOf(source);
    return MeansOf(trace_.metric_sources[source], samples, StatesOf(samples, intervals, count), count);
  }
  std::vector<StateMean> DramMeans(const std::vector<StateInterval>& intervals, uint32_t count) const;
  int64_t HeldDownByMask() const;
  std::pair<double, double> Clocks() const;
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

// A sample of the reasons holds until the next one.
int64_t SampledDevice::HeldDownByMask() const {
  const uint32_t source = Source("clock limits", "mask");
  if (source == kNone) return 0;
  int64_t held_ns = 0;
  const std::span<const MetricSample> samples = trace_.SamplesOf(source);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if ((samples[i].value & kHeldDownMask) == 0) continue;
    int64_t end_ns = std::min(EndOfSample(trace_.metric_sources[source], samples[i]), window_.end_ns);
    if (i + 1 < samples.size()) end_ns = std::min(end_ns, samples[i + 1].start_ns);
    held_ns += std::max<int64_t>(end_ns - std::max(samples[i].start_ns, window_.start_ns), 0);
  }
  return held_ns;
}

// The median and the largest clock in the window.
std::pair<double, double> SampledDevice::Clocks() const {
  uint32_t source = Source("GPC Clock Frequency", "MHz");
  if (source == kNone) source = Source("SM clock", "MHz");
  if (source == kNone) return {0, 0};
  const std::span<const MetricSample> samples = SamplesWithin(trace_.SamplesOf(source), window_);
  if (samples.empty()) return {0, 0};
  const SampleStatistics statistics = StatisticsOf(trace_.metric_sources[source], samples);
  return {statistics.p50, statistics.max};
}

void SampledDevice::FindThrottling() {
  int64_t power_ns = 0, other_ns = 0;
  std::string parts;
  for (const Throttle& throttle : kThrottles) {
    const std::optional<double> grown = GrowthWithin(trace_, Source(throttle.counter, "ns"), window_);
    if (!grown) continue;
    knows_throttling_ = true;
    const auto ns = static_cast<int64_t>(*grown);
    (throttle.is_power ? power_ns : other_ns) += ns;
    if (ns > 0)
      parts += (parts.empty() ? "" : ", ") + std::string(throttle.what) + " " + FormatNs(static_cast<double>(ns));
  }
  throttled_ns_ = std::min(power_ns + other_ns, window_.DurationNs());
  if (!knows_throttling_ && Source("clock limits", "mask") != kNone) {
    knows_throttling_ = true;
    throttled_ns_ = HeldDownByMask();
  }
  const double percent = Percent(throttled_ns_, window_.DurationNs());
  if (percent < kMuchThrottledPercent) return;
  const bool is_power = power_ns >= other_ns && power_ns > 0;
  Finding finding = is_power ? NewFinding("gpu.power_capped", percent) : NewFinding("gpu.clocks_fell", percent);
  finding.message =
      fmt::format("{}: clocks were throttled for {} ({} of the GPU window){}{}", Name(),
                  FormatNs(static_cast<double>(throttled_ns_)), PercentText(percent), parts.empty() ? "" : ": ", parts);
  const auto [median, most] = Clocks();
  if (median > 0 && most > 0) {
    finding.message += fmt::format("; SM clock median {:.0f} MHz, maximum {:.0f} MHz", median, most);
    finding.gain_ns = static_cast<int64_t>(static_cast<double>(throttled_ns_) * (1 - median / most));
    finding.basis = "assumes run time scales with the SM clock";
  }
  Add(std::move(finding));
}

std::vector<StateMean> SampledDevice::DramMeans(const std::vector<StateInterval>& intervals, uint32_t count) const {
  const uint32_t read = Source("DRAM Read Bandwidth", "%");
  if (read == kNone) return Means(Source("DRAM Bandwidth", "%"), intervals, count);
  std::vector<StateMean> sums = Means(read, intervals, count);
  const std::vector<StateMean> written = Means(Source("DRAM Write Bandwidth", "%"), intervals, count);
  for (uint32_t i = 0; i < count; ++i) sums[i].mean += written[i].mean;
  return sums;
}

void SampledDevice::JudgeKernels() {
  const KernelStates kernels = StatesOfKernels(input_, device_);
  const uint32_t count = kernels.size();
  const std::vector<StateMean> active = Means(Source("SMs Active", "%"), kernels.intervals, count);
  const std::vector<StateMean> issue = Means(Source("SM Issue", "%"), kernels.intervals, count);
  const std::vector<StateMean> tensor = Means(Source("Tensor Active", "%"), kernels.intervals, count);
  const std::vector<StateMean> dram = DramMeans(kernels.intervals, count);
  std::vector<int64_t> total_ns(count);
  for (const StateInterval& interval : kernels.intervals)
    total_ns[interval.state] += interval.end_ns - interval.start_ns;
  for (uint32_t state = 0; state + 1 < count; ++state) {
    const double percent = Percent(total_ns[state], window_.DurationNs());
    if (percent < kLeastKernelPercent) continue;
    const std::string kernel = input_.shared().kernels().Name(kernels.groups[state]);
    const bool is_occupied = active[state].SaysSomething() && active[state].mean >= kOccupiedPercent;
    const bool is_dram_bound = dram[state].SaysSomething() && dram[state].mean >= kMuchDramPercent;
    if (is_dram_bound) {
      Finding finding = NewFinding("gpu.dram_bound", percent);
      finding.message = fmt::format("{} uses {} of the device memory bandwidth ({} of the GPU window)", kernel,
                                    PercentText(dram[state].mean), PercentText(percent));
      finding.subject.kernel = kernel;
      Add(std::move(finding));
    }
    const bool is_waiting = issue[state].SaysSomething() && issue[state].mean <= kWorkingPercent &&
                            tensor[state].mean < kTensorPercent && dram[state].mean < kSomeDramPercent;
    if (!is_occupied || !is_waiting) continue;
    Finding finding = NewFinding("gpu.occupied_not_working", percent);
    finding.message = fmt::format(
        "{} occupies {} of the SMs, but they issue instructions in only {} of the cycles ({} of the GPU window)",
        kernel, PercentText(active[state].mean), PercentText(issue[state].mean), PercentText(percent));
    finding.subject.kernel = kernel;
    Add(std::move(finding));
  }
}

// Of each sample, the bytes per second that the recorded copies of the device moved in one direction.
std::vector<double> CopiedWithin(const Trace& trace, uint32_t device, std::span<const MetricSample> samples,
                                 Direction direction) {
  std::vector<double> copied(samples.size(), 0);
  for (const Operation operation : OperationsOf(trace, trace.device_ops[device])) {
    const GpuOp op = trace.ops[operation.index()];
    if (!op.IsCopy() || DirectionOf(op) != direction || op.DurationNs() <= 0) continue;
    auto at = std::partition_point(samples.begin(), samples.end(),
                                   [&](const MetricSample& sample) { return sample.end_ns <= op.start_ns; });
    for (; at != samples.end() && at->start_ns < op.end_ns; ++at) {
      const int64_t shared_ns = std::min(at->end_ns, op.end_ns) - std::max(at->start_ns, op.start_ns);
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
  const std::vector<StateInterval> states = DeviceStates(input_, device_, window_);
  double most = 0;
  int64_t busy_ns = 0;
  constexpr std::pair<std::string_view, Direction> kCounters[] = {{"PCIe RX Throughput", Direction::kH2d},
                                                                  {"PCIe TX Throughput", Direction::kD2h}};
  for (const auto& [name, direction] : kCounters) {
    const uint32_t source = Source(name, "bytes/s");
    if (source == kNone) continue;
    const std::span<const MetricSample> samples = SamplesWithin(trace_.SamplesOf(source), window_);
    const std::vector<uint32_t> state_of = StatesOf(samples, states, kDeviceStates);
    const std::vector<double> copied = CopiedWithin(trace_, device_, samples, direction);
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
                  FormatBytes(most), FormatNs(static_cast<double>(busy_ns)),
                  trace_.managed_memory.empty() ? "other processes, or managed memory that was not recorded"
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
  for (uint32_t i = 0; i < trace.devices.size(); ++i) {
    const std::optional<Interval> window = GpuWindow(trace, i);
    if (!window || window->DurationNs() <= 0) continue;
    SampledDevice device(input, i, *window, result);
    device.FindThrottling();
    device.JudgeKernels();
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
}

}  // namespace gprof
