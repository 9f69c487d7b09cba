// The report of a trace as a page of its own: `report --format html`, `view`, and `show()` in Python.
#pragma once

#include <cstdint>
#include <string>

#include "html/page/page.h"
#include "report/report.h"

namespace gprof {

inline constexpr uint32_t kPageRows = 1000;  // of a table by default: the page sorts and filters them

// What the report is of has to outlive it.
PageContents PageOfReport(const Report& report, uint64_t event_budget);

std::string PageText(const PageContents& contents);

}  // namespace gprof
