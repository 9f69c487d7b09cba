// What commands read: traces of any tool, and partials, whose results stand for the traces that they were made from.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "analysis/registry/results.h"
#include "gprof/analysis.h"
#include "gprof/trace.h"

namespace gprof {

// What needs no more than results takes both, what needs records asks RequireRecords for them.
using Input = std::variant<Trace, Results>;

// As ReadTrace (import/read_trace.h), and takes a .gpart file as well.
Input ReadInput(const std::string& path);

// The results of the ranks of all these files, each once, those of several joined.
Results ReadPartials(const std::vector<std::string>& paths);

const TraceHead& HeadOf(const Input& input);

// Throws Error for results: `what`, as in "a selection", needs the records of the trace.
const Trace& RequireRecords(const Input& input, const char* what);

// Throws Error where there are both traces and partials.
void RefuseMixture(const std::vector<std::string>& paths);

// Throws Error for results where the options are of how records are looked at: analyses were run without them.
void RefuseOptionsOfRecords(const Input& input, const AnalysisOptions& options);

}  // namespace gprof
