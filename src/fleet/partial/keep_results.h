// What a partial keeps of a trace besides its summary: what the analyses found, and the head of the trace.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/registry/results.h"
#include "gprof/analysis.h"
#include "gprof/trace.h"

namespace gprof {

// Rows of a table that a partial keeps; docs/commands/partial.md has the same number.
inline constexpr uint32_t kKeptRows = 100;

// Of all analyses, in the order of the registry.
std::vector<AnalysisResult> RunToKeep(const AnalysisInput& input);
// The same list with the results that a summary is made of, and nothing of the other analyses.
std::vector<AnalysisResult> RunForSummary(const AnalysisInput& input);

// `found` is what RunToKeep returns of the trace.
Results KeepResults(const AnalysisInput& input, std::vector<AnalysisResult> found);

// kept_json.cpp: what a partial keeps of a trace (keep_results.h) as text.

std::string KeptText(const Results& results);

// Throws Error in the name of `file` for what is none.
Results ParseKept(std::string_view text, const std::string& file);

}  // namespace gprof
