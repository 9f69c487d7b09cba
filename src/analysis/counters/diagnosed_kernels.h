// Kernels with what their launches allow and what limits them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/counters/counter_groups.h"
#include "analysis/counters/counter_occupancy.h"
#include "analysis/counters/counter_rules.h"
#include "gprof/analysis.h"

namespace gprof {

struct DiagnosedKernel {
  const KernelCounters* kernel;
  std::optional<OccupancyLimits> limits;
  std::vector<Diagnosis> diagnoses;
};

// The kernels have to outlive them.
std::vector<DiagnosedKernel> DiagnosedKernels(const Trace& trace, std::span<const KernelCounters> kernels);

// What limits it: "memory bound", "low occupancy". Empty where that is not known.
std::string VerdictOf(const DiagnosedKernel& kernel);

// The one to begin with first. Their messages do not name the kernel.
std::vector<Finding> FindingsOf(const DiagnosedKernel& kernel);

// "caches not flushed, clocks not locked"; empty where it is not known.
std::string ConditionsOf(const CounterPlan& plan);

}  // namespace gprof
