// The first page of a report as a piece of HTML for pages of others: notebooks show it below a cell.
#pragma once

#include <string>

#include "report/report.h"

namespace gprof {

// One <div> with styles in its elements: no script, no rule that could meet those of the page around it, and colours
// that can be read on light and dark.
std::string RenderReportCard(const Report& report);

}  // namespace gprof
