#include "gate/budget/rule_words.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "analysis/result/metrics.h"
#include "base/text.h"
#include "gate/budget/scope_pattern.h"
#include "gate/budget/value_text.h"
#include "gprof/error.h"

namespace gprof {
namespace {

constexpr std::string_view kOperators = "<>=!";

// "kernels.count, kernel.*": the metrics that have values of such parts.
std::string MetricsOf(Parts parts) {
  std::string text;
  for (const MetricInfo& info : MetricCatalogue()) {
    if (info.parts != parts) continue;
    const std::string family(info.id.substr(0, info.id.find('.') + 1));
    const bool are_all = std::ranges::all_of(MetricCatalogue(), [&](const MetricInfo& other) {
      return !other.id.starts_with(family) || other.parts == parts;
    });
    const std::string name = are_all ? family + "*" : std::string(info.id);
    if (!text.ends_with(name)) text += (text.empty() ? "" : ", ") + name;
  }
  return text;
}

void CheckScope(const MetricInfo& info, std::string_view scope) {
  const std::string id(info.id);
  if (scope.empty()) {
    if (!info.is_only_of_parts) return;
    throw Error(ExitCode::kUsage, id + " is a per-kernel metric", "use " + id + "@kernel:NAME (wildcard *)");
  }
  const std::string noun(ScopeNoun(scope));
  if (noun.empty()) {
    throw Error(ExitCode::kUsage, "'@" + Printable(scope) + "' is not a valid scope",
                "use @gpu0, @nvtx:PATH, @kernel:NAME, @op:NAME, @os:FUNCTION, @mpi:FUNCTION or @function:NAME "
                "(wildcards * and ?)");
  }
  const PartsInfo* const parts = PartsOf(scope);
  if (parts != nullptr && parts->parts != info.parts) {
    throw Error(ExitCode::kUsage, id + " has no value per " + noun,
                "metrics per " + noun + ": " + MetricsOf(parts->parts));
  }
}

std::string_view SignOf(RuleKind kind) {
  switch (kind) {
    case RuleKind::kAtMost:
      return "<=";
    case RuleKind::kBelow:
      return "<";
    case RuleKind::kAtLeast:
      return ">=";
    case RuleKind::kAbove:
      return ">";
    case RuleKind::kEqual:
      return "=";
    case RuleKind::kNotEqual:
      return "!=";
    case RuleKind::kMaxIncrease:
      return "<=";
    case RuleKind::kMaxDecrease:
      break;
  }
  return ">=";
}

// The rule that says that `figure operation limit` must not be.
std::optional<RuleKind> OppositeOf(std::string_view operation) {
  constexpr std::pair<std::string_view, RuleKind> kKinds[] = {
      {">", RuleKind::kAtMost},   {">=", RuleKind::kBelow},    {"<", RuleKind::kAtLeast}, {"<=", RuleKind::kAbove},
      {"=", RuleKind::kNotEqual}, {"==", RuleKind::kNotEqual}, {"!=", RuleKind::kEqual}};
  for (const auto& [word, kind] : kKinds) {
    if (word == operation) return kind;
  }
  return std::nullopt;
}

void ReadLimit(std::string_view text, Rule* rule) {
  constexpr std::string_view kBaseline = "baseline";
  const auto fail = [&] {
    throw Error(ExitCode::kUsage, "'" + Printable(text) + "' is not a valid limit for " + std::string(rule->info->id),
                "expected " + std::string(ValueForms(rule->info->unit)) + ", or baseline + 5%");
  };
  if (!text.starts_with(kBaseline)) {
    rule->limit = ReadValue(text, rule->info->unit);
    return rule->limit ? void() : fail();
  }
  const std::string_view rest = Trimmed(text.substr(kBaseline.size()));
  const bool is_upper = rule->kind == RuleKind::kAtMost, is_lower = rule->kind == RuleKind::kAtLeast;
  const char sign = rest.empty() ? '+' : rest.front();
  if ((!is_upper || sign != '+') && (!is_lower || (sign != '-' && !rest.empty()))) fail();
  const std::string_view difference = rest.empty() ? "0%" : Trimmed(rest.substr(1));
  rule->kind = is_upper ? RuleKind::kMaxIncrease : RuleKind::kMaxDecrease;
  rule->share = ReadShare(difference);
  if (!rule->share) rule->limit = ReadValue(difference, rule->info->unit);
  if (rule->share.value_or(0) < 0 || rule->limit.value_or(0) < 0 || (!rule->share && !rule->limit)) fail();
}

}  // namespace

const MetricInfo& RequireMetric(std::string_view id) {
  if (const MetricInfo* info = FindMetric(id)) return *info;
  std::vector<std::string> ids;
  for (const MetricInfo& info : MetricCatalogue()) ids.emplace_back(info.id);
  throw Error(ExitCode::kUsage, "unknown metric '" + Printable(id) + "'",
              NearestHint(id, ids, "docs/metrics.md lists the metrics"));
}

std::string_view ScopeNoun(std::string_view scope) {
  if (const PartsInfo* const parts = PartsOf(scope)) return parts->noun;
  const bool is_gpu = scope.starts_with("gpu") && scope.size() > 3 &&
                      scope.find_first_not_of("0123456789*?", 3) == std::string_view::npos;
  return is_gpu ? "GPU" : "";
}

Rule RuleFor(std::string_view figure) {
  const std::size_t at = figure.find('@');
  Rule rule;
  rule.info = &RequireMetric(figure.substr(0, at));
  if (at != std::string_view::npos) {
    rule.scope = figure.substr(at + 1);
    if (rule.scope.empty()) throw Error(ExitCode::kUsage, "nothing after the @ in '" + Printable(figure) + "'");
  }
  CheckScope(*rule.info, rule.scope);
  ScopePattern(rule.scope).Matches("kernel:x");  // throws for what is no regular expression
  return rule;
}

Rule ParseCondition(const std::string& text, const std::string& option) {
  try {
    // Names of kernels have < and > in them, so the last operator is the one that counts.
    const std::size_t last = text.find_last_of(kOperators);
    if (last == std::string::npos || last == 0) {
      throw Error(ExitCode::kUsage, "no comparison operator", "example: " + option + " 'gpu.idle_percent > 20'");
    }
    const std::size_t first = kOperators.find(text[last - 1]) != std::string_view::npos ? last - 1 : last;
    Rule rule = RuleFor(Trimmed(std::string_view(text).substr(0, first)));
    const std::string operation = text.substr(first, last + 1 - first);
    const std::optional<RuleKind> kind = OppositeOf(operation);
    if (!kind)
      throw Error(ExitCode::kUsage, "'" + operation + "' is not a comparison operator", "use >, >=, <, <=, == or !=");
    rule.kind = *kind;
    rule.typed = option + " " + ShellQuoted(text);
    ReadLimit(Trimmed(std::string_view(text).substr(last + 1)), &rule);
    return rule;
  } catch (const Error& error) {
    throw Error(ExitCode::kUsage, option + " '" + Printable(text) + "': " + error.what(), error.hint());
  }
}

std::string DifferenceOf(const Rule& rule) {
  std::string text;
  if (rule.share.value_or(0) > 0) text = FormatLimit(100 * *rule.share, Unit::kPercent);
  if (rule.limit.value_or(0) == 0) return text;
  // 5 % of a percentage and 5 points of it are not the same.
  const bool is_percent = rule.info->unit == Unit::kPercent;
  const std::string limit = is_percent ? FormatLimit(*rule.limit, Unit::kCount) + " percentage points"
                                       : FormatLimit(*rule.limit, rule.info->unit);
  text += (text.empty() ? "" : " and ") + limit;
  return text;
}

std::string TextOf(const Rule& rule, const std::string& scope) {
  std::string text(rule.info->id);
  if (!scope.empty()) text += "@" + scope;
  text += " " + std::string(SignOf(rule.kind)) + " ";
  if (!rule.NeedsBaseline()) return text + FormatLimit(*rule.limit, rule.info->unit);
  const std::string difference = DifferenceOf(rule);
  const std::string sign = rule.kind == RuleKind::kMaxIncrease ? " + " : " - ";
  return text + "baseline" + (difference.empty() ? "" : sign + difference);
}

}  // namespace gprof
