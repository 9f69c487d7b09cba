// The words that rules are made of: figures with their scopes.
#pragma once

#include <string>
#include <string_view>

#include "gate/budget/budget.h"

namespace gprof {

// A rule without a limit for "gpu.idle_percent@gpu*". Throws Error(kUsage) for figures and scopes that do not exist,
// with the nearest one in the hint.
Rule RuleFor(std::string_view figure);

// "NVTX range", "kernel", "GPU", from the beginning of a scope; empty for no scope that there is.
std::string_view ScopeNoun(std::string_view scope);

// Throws Error(kUsage) with what was probably meant.
const MetricInfo& RequireMetric(std::string_view id);

}  // namespace gprof
