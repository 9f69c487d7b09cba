// What a partial keeps of a trace besides its summary: what the analyses found, and the trace without its records.
#pragma once

#include <cstdint>
#include <vector>

#include "fleet/rank_summary.h"
#include "gprof/analysis.h"
#include "gprof/trace.h"

namespace gprof {

// Rows of a table that a partial keeps; docs/commands/partial.md has the same number.
inline constexpr uint32_t kKeptRows = 100;

// Of all analyses, in the order of the registry.
std::vector<AnalysisResult> RunToKeep(const AnalysisInput& input);
// The same list with the results that a summary is made of, and nothing of the other analyses.
std::vector<AnalysisResult> RunForSummary(const AnalysisInput& input);

// What SummarizeRanks returns, without results: enough for a verdict, in a third of the time.
std::vector<RankSummary> SummarizeWithoutResults(Trace trace);

// The trace of `input` without records, and `results` as its Trace::kept.
Trace KeepResults(const AnalysisInput& input, std::vector<AnalysisResult> results);

}  // namespace gprof
