// Kernel counters beside those of another trace: every section with the change of each metric.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/facts/counters/counter_groups.h"
#include "analysis/facts/counters/counter_sections.h"
#include "gprof/analysis.h"

namespace gprof {

struct ComparedKernel {
  const KernelCounters* now = nullptr;
  const KernelCounters* base = nullptr;  // null: the other trace does not have it
};

// In the order of `now`: by name, grid and block size; what is left by name; and the two that are left alone, whatever
// they are called.
std::vector<ComparedKernel> CompareKernels(std::span<const KernelCounters> now, std::span<const KernelCounters> base);

// A row for each kernel and metric that both have; without rows where there is none.
Table ComparisonTable(const CounterSection& section, std::span<const ComparedKernel> pairs);

// All sections, for at most so many kernels of `now` (0: all). The note of the first says what has another name
// or no partner.
std::vector<Table> ComparisonTables(const Trace& now, const Trace& base, uint32_t max_kernels);

}  // namespace gprof
