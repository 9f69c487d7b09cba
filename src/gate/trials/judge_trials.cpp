#include "gate/trials/judge_trials.h"

#include <algorithm>

namespace gprof {

SampleRules RulesOfTrials(SampleRules rules, std::size_t tried) {
  const double each = kFalseAlarmsOfAll / static_cast<double>(std::max<std::size_t>(tried, 1));
  rules.false_alarms = std::min(rules.false_alarms, each);
  return rules;
}

SampleComparison JudgeTrial(std::span<const double> base, std::span<const double> changed, const SampleRules& rules) {
  return ComparePairs(base, changed, rules);
}

}  // namespace gprof
