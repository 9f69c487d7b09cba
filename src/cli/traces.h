// Reading the traces that a command names.
#pragma once

#include <string>
#include <vector>

#include "analysis/result/compare_traces.h"
#include "gprof/trace.h"

namespace gprof::cli {

// One trace, or several as one, whose summaries are added to `summaries` then. Throws Error where one is named twice.
Trace LoadTraces(const std::vector<std::string>& paths, std::vector<TraceSummary>* summaries);

}  // namespace gprof::cli
