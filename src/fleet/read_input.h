// What commands read: traces of any tool, and partials, which stand for the traces that they were made from.
#pragma once

#include <string>
#include <vector>

#include "gprof/analysis.h"
#include "gprof/trace.h"

namespace gprof {

// The ranks of all these files, each once: what was kept of them is Trace::kept, that of several joined.
Trace ReadPartials(const std::vector<std::string>& paths);

// As ReadTrace (import/read_trace.h), and takes a .gpart file as well.
Trace ReadInput(const std::string& path);

// Throws Error where there are both traces and partials.
void RefuseMixture(const std::vector<std::string>& paths);

// Throws Error for a partial where the options are of how records are looked at: its analyses were run without them.
void RefuseOptionsOfRecords(const Trace& trace, const AnalysisOptions& options);

}  // namespace gprof
