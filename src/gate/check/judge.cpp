#include "gate/check/judge.h"

#include <algorithm>
#include <cmath>

#include "base/units.h"
#include "gate/budget/value_text.h"
#include "gate/statistics/rank_test.h"

namespace gprof {
namespace {

constexpr const char* kRuns = "";  // where a metric is missing

enum class Side : uint8_t { kWithin, kBeyond, kOpen };

bool Violates(RuleKind kind, double value, double limit) {
  switch (kind) {
    case RuleKind::kAtMost:
      return value > limit;
    case RuleKind::kBelow:
      return value >= limit;
    case RuleKind::kAtLeast:
      return value < limit;
    case RuleKind::kAbove:
      return value <= limit;
    case RuleKind::kEqual:
      return value != limit;
    case RuleKind::kNotEqual:
      return value == limit;
    case RuleKind::kMaxIncrease:
    case RuleKind::kMaxDecrease:
      break;
  }
  return false;
}

bool IsUpper(RuleKind kind) { return kind == RuleKind::kAtMost || kind == RuleKind::kBelow; }
bool IsLower(RuleKind kind) { return kind == RuleKind::kAtLeast || kind == RuleKind::kAbove; }

// Times vary, and their median stands for them. A counter that does not depend on timing has to keep to its limit in
// every run: the worst one stands for it.
double Representative(const Rule& rule, const Figure& figure) {
  const std::vector<double>& values = figure.values;
  if (!figure.is_exact) return MedianOf(values);
  if (IsUpper(rule.kind)) return *std::max_element(values.begin(), values.end());
  if (IsLower(rule.kind)) return *std::min_element(values.begin(), values.end());
  const double limit = *rule.limit;
  const auto bad = std::find_if(values.begin(), values.end(), [&](double v) { return Violates(rule.kind, v, limit); });
  return bad == values.end() ? values.front() : *bad;
}

std::string SpreadText(const std::vector<double>& values, Unit unit) {
  if (values.size() < 2) return "1 run";
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  const std::string runs = CountOf(static_cast<int64_t>(values.size()), "run");
  if (*low == *high) return runs + ", " + FormatValue(*low, unit) + " in each";
  return runs + ", " + FormatValueBeside(*low, *high, unit) + " to " + FormatValueBeside(*high, *low, unit);
}

void SetInconclusive(std::string message, RuleResult* result) {
  result->verdict = Verdict::kInconclusive;
  result->message = std::move(message);
}

// True: there is nothing to judge, and it has been said.
bool IsMissing(const Rule& rule, const Figure& figure, const std::string& where, RuleResult* result) {
  if (figure.values.empty()) {
    if (rule.allows_missing && figure.why_incomplete.empty() && !figure.is_unknown) {
      result->verdict = Verdict::kPass;
      result->message = "not present, which the budget allows: " + figure.why_missing;
    } else {
      // A metric that this run could not measure exists all the same.
      const bool is_unknown = figure.is_unknown || !figure.why_incomplete.empty();
      SetInconclusive((is_unknown ? "unknown" : "no such metric") + where + ": " +
                          (figure.why_incomplete.empty() ? figure.why_missing : figure.why_incomplete),
                      result);
    }
    return true;
  }
  if (figure.IsThroughout() || rule.allows_missing) return false;
  SetInconclusive("only " + std::to_string(figure.values.size()) + " of " +
                      CountOf(static_cast<int64_t>(figure.run_count), "run") + where + " have the metric",
                  result);
  return true;
}

std::string LimitBeside(double limit, double value, Unit unit) {
  const std::string text = FormatLimit(limit, unit);
  return limit != value && text == FormatValue(value, unit) ? FormatValueBeside(limit, value, unit) : text;
}

// "34.1% is above the limit of 20%"
std::string Beyond(const Rule& rule, double value, double limit, const char* what) {
  const Unit unit = rule.info->unit;
  const std::string is = FormatValueBeside(value, limit, unit), bound = LimitBeside(limit, value, unit);
  if (rule.kind == RuleKind::kEqual) return is + " is not " + bound;
  if (rule.kind == RuleKind::kNotEqual) return is + " is not allowed";
  if (value == limit) return is + " has reached the " + what;
  return is + (IsUpper(rule.kind) ? " is above the " : " is below the ") + what + " of " + bound;
}

std::string Within(const Rule& rule, double value) {
  const std::string is = FormatValueBeside(value, *rule.limit, rule.info->unit);
  return is + ", limit " + LimitBeside(*rule.limit, value, rule.info->unit);
}

// What an incomplete run proves all the same: what is too high already, or high enough.
bool IsSureAllTheSame(const Rule& rule, const Figure& figure, bool is_beyond) {
  return figure.may_be_too_low && (is_beyond ? IsUpper(rule.kind) : IsLower(rule.kind));
}

// The differences that a rule allows, in the unit of the figure: what is beyond both is too much.
double Allowed(const Rule& rule, double base_median) {
  return std::max(rule.share.value_or(0) * std::fabs(base_median), rule.limit.value_or(0));
}

// Exactly: what the smallest and the largest difference between any two runs say.
Side CompareCounts(const Rule& rule, const std::vector<double>& base, const std::vector<double>& now, double allowed) {
  const auto [base_low, base_high] = std::minmax_element(base.begin(), base.end());
  const auto [now_low, now_high] = std::minmax_element(now.begin(), now.end());
  const bool is_increase = rule.kind == RuleKind::kMaxIncrease;
  const double least = is_increase ? *now_low - *base_high : *base_low - *now_high;
  const double most = is_increase ? *now_high - *base_low : *base_high - *now_low;
  return most <= allowed ? Side::kWithin : least > allowed ? Side::kBeyond : Side::kOpen;
}

// Whether so few runs can rule anything out with the usual risk of 10 %.
bool CanRuleOut(std::size_t m, std::size_t n) {
  double arrangements = 1;
  for (std::size_t i = 1; i <= std::min(m, n); ++i)
    arrangements *= static_cast<double>(std::max(m, n) + i) / static_cast<double>(i);
  return arrangements >= 10;
}

// However few or noisy the runs are: no run is worse than any of the baseline, or the median is better by more than it
// may be worse. How much better it is, nobody asks.
bool IsImprovement(const Rule& rule, const std::vector<double>& base, const std::vector<double>& now, double allowed) {
  const bool is_increase = rule.kind == RuleKind::kMaxIncrease;
  const auto [base_low, base_high] = std::minmax_element(base.begin(), base.end());
  const auto [now_low, now_high] = std::minmax_element(now.begin(), now.end());
  const double gain = is_increase ? MedianOf(base) - MedianOf(now) : MedianOf(now) - MedianOf(base);
  const bool is_separated = is_increase ? *now_high <= *base_low : *now_low >= *base_high;
  return gain > 0 && (is_separated || gain > allowed);
}

Side CompareTimes(const Rule& rule, const Figure& base, const Figure& now, double allowed, RuleResult* result) {
  SampleRules rules;
  // An increase is what the rule forbids, whatever the figure likes.
  rules.better = rule.kind == RuleKind::kMaxIncrease ? Better::kLower : Better::kHigher;
  rules.min_relative = rule.share.value_or(0);
  rules.min_absolute = rule.limit.value_or(0);
  const SampleComparison compared = CompareSamples(base.values, now.values, rules);
  result->evidence = compared.evidence;
  if (IsImprovement(rule, base.values, now.values, allowed)) return Side::kWithin;
  if (compared.change == Change::kRegressed) return Side::kBeyond;
  if (compared.change != Change::kInconclusive) return Side::kWithin;
  // The other direction need not be settled.
  const double worst = rule.kind == RuleKind::kMaxIncrease ? compared.ruled_out_above : -compared.ruled_out_below;
  return CanRuleOut(base.values.size(), now.values.size()) && worst <= allowed ? Side::kWithin : Side::kOpen;
}

// "12.43 ms, 8.1% (930 us) above the baseline's 11.50 ms"
std::string DifferenceText(const Rule& rule, double base, double now) {
  const Unit unit = rule.info->unit;
  const std::string is = FormatValueBeside(now, base, unit), was = FormatValueBeside(base, now, unit);
  if (now == base) return is + ", same as the baseline";
  std::string by = FormatValue(std::fabs(now - base), unit);
  if (unit == Unit::kPercent && by.ends_with('%')) by = by.substr(0, by.size() - 1) + " percentage points";
  if (base != 0 && unit != Unit::kPercent)
    by = FormatPercent(100 * std::fabs(now - base) / std::fabs(base)) + " (" + by + ")";
  return is + ", " + by + (now > base ? " above" : " below") + " the baseline's " + was;
}

void Settle(const Rule& rule, bool is_beyond, RuleResult* result) {
  result->verdict = !is_beyond ? Verdict::kPass : rule.is_warning ? Verdict::kWarn : Verdict::kFail;
}

}  // namespace

void JudgeLimit(const Rule& rule, const Figure& figure, const std::string& mixed, RuleResult* result) {
  result->limit = rule.limit;
  if (!figure.values.empty()) {
    result->value = Representative(rule, figure);
    result->evidence = SpreadText(figure.values, rule.info->unit);
  }
  if (IsMissing(rule, figure, kRuns, result)) return;
  if (!mixed.empty() && !figure.is_exact) {
    return SetInconclusive("the runs are not comparable: " + mixed, result);
  }
  const bool is_beyond = Violates(rule.kind, *result->value, *rule.limit);
  if (!figure.why_incomplete.empty() && !IsSureAllTheSame(rule, figure, is_beyond)) {
    return SetInconclusive(
        figure.why_incomplete + ", so " + FormatValue(*result->value, rule.info->unit) + " may be wrong", result);
  }
  Settle(rule, is_beyond, result);
  if (is_beyond) {
    result->message = Beyond(rule, *result->value, *rule.limit, rule.is_warning ? "warning level" : "limit");
  } else if (rule.warn && Violates(rule.kind, *result->value, *rule.warn)) {
    result->verdict = Verdict::kWarn;
    result->message = Beyond(rule, *result->value, *rule.warn, "warning level") + ", limit " +
                      FormatLimit(*rule.limit, rule.info->unit);
  } else {
    result->message = Within(rule, *result->value);
  }
  if (figure.values.size() > 1) result->message += figure.is_exact ? "" : " (median)";
}

void JudgeDifference(const Rule& rule, const Figure& base, const Figure& now, const std::string& mixed,
                     RuleResult* result) {
  if (!now.values.empty()) result->value = MedianOf(now.values);
  if (!base.values.empty()) result->baseline = MedianOf(base.values);
  if (IsMissing(rule, now, kRuns, result) || IsMissing(rule, base, " in the baseline", result)) return;
  const double allowed = Allowed(rule, *result->baseline);
  result->limit = *result->baseline + (rule.kind == RuleKind::kMaxIncrease ? allowed : -allowed);
  const std::string difference = DifferenceText(rule, *result->baseline, *result->value);
  result->message = difference;
  if (!base.why_incomplete.empty() || !now.why_incomplete.empty()) {
    return SetInconclusive(now.why_incomplete.empty() ? base.why_incomplete : now.why_incomplete, result);
  }
  const bool is_exact = base.is_exact && now.is_exact;
  if (!mixed.empty() && !is_exact) {
    return SetInconclusive("times cannot be compared: " + mixed, result);
  }
  Side side = Side::kOpen;
  if (is_exact) {
    side = CompareCounts(rule, base.values, now.values, allowed);
    result->evidence = "compared exactly: " + SpreadText(now.values, rule.info->unit) + "; baseline " +
                       SpreadText(base.values, rule.info->unit);
  } else {
    side = CompareTimes(rule, base, now, allowed, result);
  }
  if (side == Side::kOpen) {
    return SetInconclusive(difference + "; too few or too noisy runs for a verdict", result);
  }
  Settle(rule, side == Side::kBeyond, result);
  if (side == Side::kWithin) return;
  const std::string allowed_text = DifferenceOf(rule);
  result->message += allowed_text.empty() ? "; no change allowed" : "; " + allowed_text + " allowed";
}

}  // namespace gprof
