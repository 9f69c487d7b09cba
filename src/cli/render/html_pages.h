// Reports and comparisons as HTML pages, for `report`, `diff` and `view`.
#pragma once

#include <string>
#include <vector>

#include "fleet/verdict/fleet_verdict.h"
#include "gate/diff/diff.h"
#include "html/page/page.h"
#include "report/run_facts.h"

namespace gprof::cli {

// Before a trace is read, which may take a while. Throws Error in a build without the page, and where the page would go
// to a terminal: `path` is what -o says.
void RequirePage(const std::string& path);

// Of a partial: that its page has no timeline, and what does.
void SayWhatPartialsLack(const RunFacts& run);

// The page of `ranks` on many ranks. A rank whose trace is in `paths`, or beside a partial in it, says how to see its
// timeline.
PageContents PageOfRanks(const FleetVerdict& verdict, const std::vector<std::string>& paths);

// `document`: the comparison in JSON. Timelines are added by those who have the traces.
PageContents PageOfDiff(const Diff& diff, std::string document);

// Writes the page to a file, whole or not at all, and says so; for "-" and nothing to stdout.
void WritePageTo(const std::string& path, const PageContents& contents);

}  // namespace gprof::cli
