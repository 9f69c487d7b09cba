// Floating-point operations of the operators of a step, and which work has none that are known.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "analysis/facts/operators/operators.h"
#include "analysis/facts/steps/step_windows.h"
#include "gprof/analysis.h"

namespace gprof {

// GPU time of an operator that neither has a formula nor is part of one that has.
struct UncountedOperator {
  std::string_view name;  // empty: of no operator
  int64_t gpu_ns = 0, kernels = 0;
};

struct StepFlops {
  // Of what began in the steps; of all of the trace where there are none.
  StepFlops(const AnalysisInput& input, const Operators& operators, const StepWindows& steps);

  // The time in which the GPUs could have done it at least, in percent of the steps; 0 where that is not known.
  double UtilisationPercent(const StepWindows& steps) const;

  int64_t flops = 0;
  double least_ns = 0;                       // what they take at the peak of their types
  bool has_unknown_peak = false;             // for some of them that is not known
  int64_t gpu_ns = 0;                        // of all work
  int64_t counted_ns = 0;                    // of work within operators with FLOPs
  int64_t devices = 0;                       // that did work
  std::vector<UncountedOperator> uncounted;  // the most GPU time first
};

}  // namespace gprof
