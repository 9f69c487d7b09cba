// Tables with several rows for a kernel, and what the tables of counters share.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "analysis/counters/counter_groups.h"
#include "gprof/analysis.h"

namespace gprof {

// Null where the GPU is not known.
const trace::DeviceRecord* DeviceFactsOf(const Trace& trace, const KernelCounters& kernel);

// Whole where the value is.
Cell CellOf(std::optional<double> value, Unit unit);

// Those that belong to a section, in order; without rows where they have nothing to show.
std::vector<Table> LongTablesOf(std::string_view section, const Trace& trace, std::span<const KernelCounters> kernels);

}  // namespace gprof
