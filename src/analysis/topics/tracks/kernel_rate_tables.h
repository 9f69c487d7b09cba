// Tables of what sampled counters say of single kernels.
#pragma once

#include <cstdint>

#include "gprof/analysis.h"

namespace gprof {

// gpu_metrics_kernels: a row for each kind of work and counter.
Table KernelRatesTable();
void AddKernelRates(const AnalysisInput& input, uint32_t device, Table* table);

}  // namespace gprof
