// Rules: what limits a kernel, by its counters, and what could be won at most.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/facts/counters/counter_groups.h"
#include "analysis/facts/counters/counter_occupancy.h"
#include "gprof/analysis.h"

namespace gprof {

struct Diagnosis {
  std::string_view finding;  // kernel.uncoalesced, …
  double percent = 0;        // of the kernel's time, at most; 0: there is no estimate
  std::string message;       // what is the case, with numbers; the name of the kernel stands before it
  bool is_cause = true;      // not only where the time goes
  std::vector<std::string> evidence{};
};

// The one to begin with first, at most three: causes before what only says where the time goes.
std::vector<Diagnosis> DiagnosesOf(const KernelCounters& kernel, const trace::DeviceRecord* device);

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
