// Reports and comparisons as HTML pages, for `report`, `diff` and `view`.
#pragma once

#include <cstdint>
#include <string>

#include "gate/diff.h"
#include "html/page.h"
#include "report/report.h"

namespace gprof::cli {

inline constexpr uint32_t kPageRows = 2000;  // of a table by default: the page sorts and filters them

// Before a trace is read, which may take a while. Throws Error in a build without the page, and where the page would go
// to a terminal: `path` is what -o says.
void RequirePage(const std::string& path);

// The trace of the report has to outlive it.
PageContents PageOfReport(const Report& report, uint64_t event_budget);

// `document`: the comparison in JSON. Timelines are added by those who have the traces.
PageContents PageOfDiff(const Diff& diff, std::string document);

std::string PageText(const PageContents& contents);

// Writes the page to a file, whole or not at all, and says so; for "-" and nothing to stdout.
void WritePageTo(const std::string& path, const PageContents& contents);

}  // namespace gprof::cli
