// Parts of an analysis side by side.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "gprof/analysis.h"

namespace gprof {

// Calls each of them: side by side where the trace is large and the machine has more cores than analyses alone would
// keep busy, one after the other elsewhere, as what runs side by side needs its memory at the same time.
void RunSideBySide(const AnalysisInput& input, const std::vector<std::function<void()>>& parts);

// The same for facts: `threads` is SharedFacts::threads().
void RunSideBySide(size_t threads, const std::vector<std::function<void()>>& parts);

}  // namespace gprof
