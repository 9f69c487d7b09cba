#include "gate/diff/diff_metrics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <tuple>

#include "gate/statistics/rank_test.h"

namespace gprof {
namespace {

constexpr double kLeastPoints = 0.5;  // 2 % of a small percentage is nothing

struct MetricValues {
  std::vector<double> base, now;
};

std::optional<double> Median(const std::vector<double>& values) {
  return values.empty() ? std::nullopt : std::optional(MedianOf(values));
}

SampleComparison JudgeCounter(const MetricValues& values, const MetricInfo& info, bool is_complete) {
  SampleRules rules;
  rules.better = info.better;
  rules.unit = info.unit;
  rules.is_deterministic = true;
  SampleComparison judged = CompareSamples(values.base, values.now, rules);
  if (!is_complete) {
    judged.change = Change::kInconclusive;
    judged.evidence = "incomplete trace: this count may be too low";
  }
  return judged;
}

SampleComparison JudgeTime(const MetricValues& values, const MetricInfo& info, const DiffOptions& options) {
  SampleRules rules;
  rules.better = info.better;
  rules.unit = info.unit;
  rules.min_relative = options.min_relative;
  if (info.unit == Unit::kNs) rules.min_absolute = options.min_absolute_ns;
  if (info.unit == Unit::kPercent) rules.min_absolute = kLeastPoints;
  return options.are_pairs && values.base.size() == values.now.size() ? ComparePairs(values.base, values.now, rules)
                                                                      : CompareSamples(values.base, values.now, rules);
}

// How far apart the two are, of the base; figures that one side does not have come last. A tenth of a percentage that
// has become two tenths is no more than a point of a large one.
double Relative(const MetricChange& metric) {
  if (!metric.base || !metric.now) return -1;
  constexpr double kPoints = 10;
  const double change = std::fabs(*metric.now - *metric.base);
  const double most = metric.unit == Unit::kPercent ? change / kPoints : std::numeric_limits<double>::max();
  return *metric.base == 0 ? most : std::min(most, change / std::fabs(*metric.base));
}

// A counter that one side did not collect says nothing about the program: it comes behind all others.
bool IsOfOneCollection(const MetricChange& metric) {
  return metric.id.starts_with("kernel.") && (!metric.base || !metric.now);
}

}  // namespace

void CompareMetrics(const std::pair<std::vector<const Measurement*>, std::vector<const Measurement*>>& runs,
                    const MetricRules& rules, Diff* diff) {
  std::map<std::pair<std::string, std::string>, MetricValues> all;  // by id and scope
  for (const Measurement* run : runs.first) {
    for (const Metric& metric : run->metrics) all[{std::string(metric.id), metric.scope}].base.push_back(metric.value);
  }
  for (const Measurement* run : runs.second) {
    for (const Metric& metric : run->metrics) all[{std::string(metric.id), metric.scope}].now.push_back(metric.value);
  }
  const bool is_complete = diff->base.is_complete && diff->now.is_complete;
  for (const auto& [key, values] : all) {
    const MetricInfo* const info = FindMetric(key.first);
    if (info == nullptr) continue;  // of a document that a newer build wrote
    MetricChange metric{key.first,           key.second,         info->unit, info->better, info->is_deterministic,
                        Median(values.base), Median(values.now), {}};
    const bool is_in_both = metric.base && metric.now;
    if (is_in_both && info->is_deterministic) {
      metric.judged = JudgeCounter(values, *info, is_complete);
    } else if (is_in_both && rules.judges_times) {
      metric.judged = JudgeTime(values, *info, rules.options);
    }
    if (metric.base == metric.now) continue;
    if (info->is_deterministic && metric.scope.empty() && metric.judged) {
      diff->worse_counters += metric.judged->change == Change::kRegressed;
      diff->better_counters += metric.judged->change == Change::kImproved;
    }
    diff->metrics.push_back(std::move(metric));
  }
  std::stable_sort(diff->metrics.begin(), diff->metrics.end(), [](const MetricChange& a, const MetricChange& b) {
    return std::tuple(IsOfOneCollection(a), !a.is_deterministic, !a.scope.empty(), -Relative(a)) <
           std::tuple(IsOfOneCollection(b), !b.is_deterministic, !b.scope.empty(), -Relative(b));
  });
}

}  // namespace gprof
