// Which tables of a report text and Markdown show.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "gprof/analysis.h"
#include "report/report.h"

namespace gprof {

// How much of the report text and Markdown show. The first page answers what most people ask; the rest is there for
// who asks for it (--full, --only).
struct ShownTable {
  const Table* table;
  std::size_t rows;                  // at most
  bool is_first_page;                // without its note
  std::vector<std::string> lines{};  // above the rows: what they say in words
};
std::vector<ShownTable> TablesToShow(const Report& report);

// "Samples over the GPU window: SMs active 80.0%, tensor cores not used, DRAM bandwidth 12.0%"
std::vector<std::string> KernelLines(const Report& report);

// "1,234 operator calls: CPU self 12.00 ms, GPU self 4.50 ms (37.5% of CPU)"
std::vector<std::string> OperatorLines(const Report& report);

// Whether streams ran side by side: "4 made, 2 used. At once: 1 for 80.0% of busy time, 2 for 20.0%."
std::vector<std::string> StreamLines(const Report& report);

}  // namespace gprof
