#include "analysis/topics/tracks/kernel_rate_findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/facts/lazy.h"
#include "analysis/facts/rates/replay_doubt.h"
#include "analysis/facts/shared_facts.h"
#include "analysis/findings/finding_catalogue.h"
#include "analysis/result/display_names.h"
#include "analysis/topics/tracks/gpu_states.h"
#include "base/short_names.h"

namespace gprof {
namespace {

constexpr double kFewSmsPercent = 50;
constexpr double kOccupiedPercent = 80, kWorkingPercent = 20, kTensorPercent = 20, kSomeDramPercent = 40;
constexpr double kMuchDramPercent = 70;
constexpr double kLeastKernelPercent = 10;  // of the GPU window

std::string WholePercent(double percent) { return fmt::format("{:.0f}%", percent); }

// "93%", and where it is not known to a point, "93% (91 to 95)".
std::string EstimateText(const Estimate& estimate) {
  if (estimate.high - estimate.low < 1) return WholePercent(estimate.value);
  return fmt::format("{:.0f}% ({:.0f} to {:.0f})", estimate.value, estimate.low, estimate.high);
}

// What is said of kernels: by regression over the samples of the monitors; where these are too few, or there are only
// those of GPM, ten times a second, by those that a kernel filled.
class KernelValues {
 public:
  KernelValues(const AnalysisInput& input, uint32_t device)
      : input_(input), trace_(input.trace()), device_(device), rates_(input.shared().kernel_rates(device)) {}

  std::optional<Estimate> Of(std::string_view name, uint32_t group) const {
    const KernelRates::Counter* const counter = rates_.Find(name, "%");
    const std::optional<Estimate> rate =
        counter == nullptr ? std::nullopt : WithReplayDoubt(rates_.OfKernel(*counter, group), counter->unit);
    if (rate) return rate;
    if (name == kDramBandwidth && FindSource(trace_, device_, name, "%") == kNone) {
      const std::optional<Estimate> read = Of("DRAM Read Bandwidth", group),
                                    written = Of("DRAM Write Bandwidth", group);
      if (!read || !written) return std::nullopt;
      return Estimate{read->value + written->value, read->low + written->low, read->high + written->high};
    }
    const KernelStates& states = states_.Make([&] { return StatesOfKernels(input_, device_); });
    const auto state = std::ranges::find(states.groups, group) - states.groups.begin();
    const uint32_t source = FindSource(trace_, device_, name, "%");
    if (source == kNone || state == std::ssize(states.groups)) return std::nullopt;
    const MetricSource& of = trace_.metric_sources[source];
    const std::span<const MetricSample> samples = trace_.SamplesOf(source);
    const std::vector<uint32_t> state_of = StatesOf(samples, states.intervals, states.size(), ClockErrorNs(trace_, of));
    const SampleStatistics found =
        StatisticsOfStates(of, samples, state_of, states.size())[static_cast<std::size_t>(state)];
    if (!SaysSomething(found)) return std::nullopt;
    return Estimate{found.mean, found.mean, found.mean};
  }

 private:
  const AnalysisInput& input_;
  const Trace& trace_;
  uint32_t device_;
  const KernelRates& rates_;
  Lazy<KernelStates> states_;  // where rates are not enough
};

bool IsBelow(const std::optional<Estimate>& estimate, double percent) { return estimate && estimate->high < percent; }

// What is not known speaks against nothing.
bool MayBeBelow(const std::optional<Estimate>& estimate, double percent) {
  return !estimate || IsBelow(estimate, percent);
}

}  // namespace

void AddKernelFindings(const AnalysisInput& input, uint32_t device, const Interval& window, AnalysisResult* result) {
  const KernelGroups& kernels = input.shared().kernels();
  const KernelValues values(input, device);
  const auto window_ns = static_cast<double>(window.DurationNs());
  for (const auto& [group, time_ns] : LongestKernels(input, device)) {
    const double percent = 100 * static_cast<double>(time_ns) / window_ns;
    if (percent < kLeastKernelPercent) break;
    const std::string& kernel = kernels.Name(group);
    const std::string brief = BriefName(kernel);
    const auto add = [&](std::string_view id, const std::string& message) {
      Finding finding = NewFinding(id, percent);
      finding.message = fmt::format("{} ({} of the GPU window)", message, WholePercent(percent));
      finding.subject.kernel = kernel;
      finding.subject.device = DeviceScope(input.trace(), device);
      result->findings.push_back(std::move(finding));
    };
    const std::optional<Estimate> active = values.Of("SMs Active", group), issue = values.Of("SM Issue", group),
                                  tensor = values.Of("Tensor Active", group), dram = values.Of(kDramBandwidth, group);
    if (dram && dram->low >= kMuchDramPercent)
      add("gpu.dram_bound", fmt::format("{} uses {} of the device memory bandwidth", brief, EstimateText(*dram)));
    if (active && active->high <= kFewSmsPercent) {
      add("gpu.partial_grids", fmt::format("{} keeps {} of the SMs active on average: the others have no block to run",
                                           brief, EstimateText(*active)));
    }
    const bool is_waiting =
        IsBelow(issue, kWorkingPercent) && MayBeBelow(tensor, kTensorPercent) && MayBeBelow(dram, kSomeDramPercent);
    if (!active || active->low < kOccupiedPercent || !is_waiting) continue;
    add("gpu.occupied_not_working",
        fmt::format("{} occupies {} of the SMs, but they issue instructions in only {} of the cycles", brief,
                    EstimateText(*active), EstimateText(*issue)));
  }
}

}  // namespace gprof
