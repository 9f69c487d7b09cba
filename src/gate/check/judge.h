// One rule about one figure of some runs.
#pragma once

#include <string>

#include "gate/budget/budget.h"
#include "gate/check/figures.h"
#include "gate/check/verdict.h"

namespace gprof {

// Against a limit. `mixed` says why times of these runs do not belong together; empty where they do.
void JudgeLimit(const Rule& rule, const Figure& figure, const std::string& mixed, RuleResult* result);

// Against a baseline.
void JudgeDifference(const Rule& rule, const Figure& base, const Figure& now, const std::string& mixed,
                     RuleResult* result);

}  // namespace gprof
