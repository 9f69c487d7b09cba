// How far a report can be trusted, in one place: what is missing, how well the clocks agree, what recording cost, what
// was recorded, and by which versions. Always about the whole trace, whatever was selected.
#pragma once

#include <string>

#include "gprof/analysis.h"
#include "report/json_values.h"
#include "report/run_facts.h"

namespace gprof {

// "estimated slow-down 0.4% to 1.9%", what recording cost; empty where that is not known.
std::string OverheadText(const RunFacts& run);

// A row for each question: text and Markdown show it at the end, CSV as the table "trust".
Table TrustTable(const RunFacts& run);

// The same as facts.
Json TrustJson(const RunFacts& run);

}  // namespace gprof
