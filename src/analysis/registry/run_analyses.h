// Several analyses of one trace at once.
#pragma once

#include <span>
#include <vector>

#include "gprof/analysis.h"

namespace gprof {

// The results in the order of `analyses`. Those of a large trace are made on as many threads as there are cores.
std::vector<AnalysisResult> RunAll(const AnalysisInput& input, std::span<const Analysis* const> analyses,
                                   const AnalysisOptions& options);

// finding_lines.cpp: the line of Python code that a finding is about.

// Where most of what a finding is about comes from one line of the program, its subject and its sentence say which.
void NameLines(const AnalysisInput& input, std::vector<AnalysisResult>* results);

// measured_savings.cpp: of a trace that `what-if` recorded, what it measured takes the place of what was estimated.
void MeasureSavings(const AnalysisInput& input, const AnalysisOptions& options, std::vector<AnalysisResult>* results);

}  // namespace gprof
