#include "analysis/topics/kernels/sampled_kernels.h"

#include "analysis/facts/rates/replay_doubt.h"
#include "analysis/facts/shared_facts.h"

namespace gprof {

SampledKernels::SampledKernels(const AnalysisInput& input) : input_(input) {
  for (uint32_t device = 0; device < input.trace().devices.size(); ++device) {
    if (!input.shared().kernel_rates(device).counters().empty()) devices_.push_back(device);
  }
}

std::optional<Estimate> SampledKernels::Of(const KernelCounter& counter, uint32_t group) const {
  Estimate sum;
  double time_ns = 0;
  for (const uint32_t device : devices_) {
    const KernelRates& rates = input_.shared().kernel_rates(device);
    const auto of_device_ns = static_cast<double>(rates.TimeNs(group));
    if (of_device_ns <= 0) continue;
    const KernelRates::Counter* const found = rates.Find(counter.name, "%");
    if (found == nullptr) return std::nullopt;
    const std::optional<Estimate> estimate = WithReplayDoubt(rates.OfKernel(*found, group), found->unit);
    if (!estimate) return std::nullopt;
    sum.value += of_device_ns * estimate->value;
    sum.low += of_device_ns * estimate->low;
    sum.high += of_device_ns * estimate->high;
    time_ns += of_device_ns;
  }
  if (time_ns <= 0) return std::nullopt;
  return Estimate{sum.value / time_ns, sum.low / time_ns, sum.high / time_ns};
}

std::string_view SampledKernels::LimitOf(uint32_t group) const {
  constexpr double kHighPercent = 60;
  bool is_all_low = true, is_memory = false, is_compute = false;
  for (const KernelCounter& counter : kKernelCounters) {
    const bool is_of_memory = counter.column == "dram_percent";
    const bool is_of_compute = counter.column == "tensor_percent" || counter.name == "SM Issue";
    if (!is_of_memory && !is_of_compute) continue;
    const std::optional<Estimate> estimate = Of(counter, group);
    is_all_low &= estimate && estimate->high < kHighPercent;
    if (!estimate || estimate->low < kHighPercent) continue;
    (is_of_memory ? is_memory : is_compute) = true;
  }
  if (is_memory != is_compute) return is_memory ? "memory" : "compute";
  return is_all_low ? "latency" : "";
}

}  // namespace gprof
