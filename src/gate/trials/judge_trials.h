// Whether changes of a program made it faster, when many were tried: the more are tried, the more one has to show.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "gate/statistics/samples.h"

namespace gprof {

// That any of `tried` changes that do nothing is called better or worse has this probability at most.
inline constexpr double kFalseAlarmsOfAll = 0.05;

// The rules for each of so many, by Bonferroni's correction; no looser than those of a comparison.
SampleRules RulesOfTrials(SampleRules rules, std::size_t tried);

// `base[i]` and `changed[i]` ran in the same round.
SampleComparison JudgeTrial(std::span<const double> base, std::span<const double> changed, const SampleRules& rules);

}  // namespace gprof
