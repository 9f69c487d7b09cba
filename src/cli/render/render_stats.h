// The tables of `stats`, with as many digits as Nsight Systems prints.
#pragma once

#include <string>
#include <vector>

#include "base/terminal.h"
#include "cli/render/report/render_report.h"
#include "gprof/analysis.h"

namespace gprof::cli {

// Under a line with its title. Numbers are never left out; on a terminal names are shortened to its width.
std::string RenderStatsTable(const Table& table, const Terminal& terminal);
std::string RenderStatsCsv(const Table& table, char separator);
// Of one table an array with an object for each row, as nsys has it; of several an object with such an array for each.
std::string RenderStatsJson(const std::vector<NamedTable>& tables);

}  // namespace gprof::cli
