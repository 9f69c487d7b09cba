// A first budget from runs that are as they should be.
#pragma once

#include <string>

#include "gate/runs/measurement.h"

namespace gprof {

// The text of a budget with comments: counters held to what they are, times with room above, only what is worth
// guarding. With `baseline`, a path, times are held against it.
std::string InitBudget(const RunSet& runs, const std::string& baseline);

}  // namespace gprof
