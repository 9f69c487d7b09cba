// Reading the traces that a command names.
#pragma once

#include <string>
#include <vector>

#include "analysis/registry/compare_traces.h"
#include "fleet/read_input.h"

namespace gprof::cli {

// One trace, or several as one, whose summaries are added to `summaries` then; or the results of partials. Throws Error
// where one is named twice.
Input LoadInput(const std::vector<std::string>& paths, std::vector<TraceSummary>* summaries);

// A folder stands for the traces in it, or else its partials. Others stay as they are.
std::vector<std::string> WithFoldersRead(std::vector<std::string> paths);

}  // namespace gprof::cli
