// What sampled counters say of kernels, for the table of kernels and for metrics: over all GPUs, by their time.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "analysis/facts/rates/rate_fit.h"
#include "gprof/analysis.h"

namespace gprof {

// A counter of kernels: how samples, metrics and columns call it.
struct KernelCounter {
  std::string_view name, metric, column, title;  // no title: it has no column
};
inline constexpr KernelCounter kKernelCounters[] = {
    {"SMs Active", "kernels.sm_active_percent", "", ""},
    {"Compute Warps in Flight", "kernels.warps_percent", "warps_percent", "Warps"},
    {"SM Issue", "kernels.issue_percent", "", ""},
    {"DRAM Bandwidth", "kernels.dram_percent", "dram_percent", "DRAM"},
    {"Tensor Active", "kernels.tensor_percent", "tensor_percent", "Tensor"},
};

class SampledKernels {
 public:
  explicit SampledKernels(const AnalysisInput& input);
  bool has_any() const { return !devices_.empty(); }
  std::optional<Estimate> Of(const KernelCounter& counter, uint32_t group) const;
  // "memory", "compute", "latency"; empty where the samples do not tell.
  std::string_view LimitOf(uint32_t group) const;

 private:
  const AnalysisInput& input_;
  std::vector<uint32_t> devices_;  // that were sampled
};

}  // namespace gprof
