// Tables of counters: of a section with a row for each kernel, and with several rows for one.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/causes/counters/counter_rules.h"
#include "analysis/facts/counters/counter_groups.h"
#include "analysis/facts/counters/counter_sections.h"
#include "gprof/analysis.h"

namespace gprof {

// Whole where the value is.
Cell CellOf(std::optional<double> value, Unit unit);

// "Duration", or that the launch on the host is in it.
std::string DurationTitle(std::span<const DiagnosedKernel> kernels);

// A row for each of the first `rows` kernels. Columns that no kernel has a value for are left out.
Table SectionTable(const CounterSection& section, std::span<const DiagnosedKernel> kernels, std::size_t rows);

// Those that belong to a section, in order; without rows where they have nothing to show.
std::vector<Table> LongTablesOf(std::string_view section, const Trace& trace, std::span<const KernelCounters> kernels);

}  // namespace gprof
