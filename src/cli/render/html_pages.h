// Reports and comparisons as HTML pages, for `report`, `diff` and `view`.
#pragma once

#include <string>

#include "gate/diff/diff.h"
#include "html/page/page.h"

namespace gprof::cli {

// Before a trace is read, which may take a while. Throws Error in a build without the page, and where the page would go
// to a terminal: `path` is what -o says.
void RequirePage(const std::string& path);

// What there is of a partial instead, for RequireRecords().
std::string PageOfRanks(const std::string& partial);

// `document`: the comparison in JSON. Timelines are added by those who have the traces.
PageContents PageOfDiff(const Diff& diff, std::string document);

// Writes the page to a file, whole or not at all, and says so; for "-" and nothing to stdout.
void WritePageTo(const std::string& path, const PageContents& contents);

}  // namespace gprof::cli
