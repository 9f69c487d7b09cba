#include "gate/check/figures.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "gate/budget/rule_words.h"
#include "gate/budget/scope_pattern.h"

namespace gprof {
namespace {

// Figures of what is missing are never missing themselves.
bool IsWholeFor(const Measurement& run, const MetricInfo& info) {
  return run.is_complete || info.is_of_recording || (run.is_host_complete && info.is_of_host);
}

std::string Missing(const Measurement& run) {
  std::string text;
  for (const std::string& what : run.missing) text += (text.empty() ? "" : ", ") + what;
  return text.empty() ? "data is missing" : text;
}

std::string KeyOf(std::string_view id, const std::string& scope) { return std::string(id) + "@" + scope; }

}  // namespace

Figures::Figures(const RunSet& set) : set_(set), values_(set.runs.size()) {
  std::unordered_map<std::string_view, std::set<std::string>> seen;
  for (std::size_t i = 0; i < set.runs.size(); ++i) {
    for (const Metric& metric : set.runs[i].metrics) {
      values_[i].emplace(KeyOf(metric.id, metric.scope), metric.value);
      if (!metric.scope.empty() && seen[metric.id].insert(metric.scope).second)
        scopes_[metric.id].push_back(metric.scope);
    }
  }
}

const std::vector<std::string>& Figures::ScopesOf(std::string_view id) const {
  static const std::vector<std::string> kNothing;
  const auto found = scopes_.find(id);
  return found == scopes_.end() ? kNothing : found->second;
}

std::string Figures::WhyMissing(const MetricInfo& info, const std::string& scope) const {
  const std::string why = WhyNotRecorded(set_.runs.front(), info.id);
  if (!why.empty()) return why;
  if (!scope.empty()) {
    const std::string nearest = Nearest(scope, ScopesOf(info.id));
    const std::size_t colon = scope.find(':');
    return "no run has " +
           (colon == std::string::npos ? scope
                                       : "the " + std::string(ScopeNoun(scope)) + " " + scope.substr(colon + 1)) +
           (nearest.empty() ? "" : "; did you mean @" + nearest + "?");
  }
  return info.why_missing.empty() ? "no run has this metric" : std::string(info.why_missing);
}

Figure Figures::Of(const MetricInfo& info, const std::string& scope) const {
  const bool has_whole =
      std::any_of(set_.runs.begin(), set_.runs.end(), [&](const Measurement& run) { return IsWholeFor(run, info); });
  Figure figure;
  figure.is_exact = info.is_deterministic;
  for (std::size_t i = 0; i < set_.runs.size(); ++i) {
    const Measurement& run = set_.runs[i];
    if (has_whole && !IsWholeFor(run, info)) continue;
    ++figure.run_count;
    figure.is_exact = figure.is_exact && run.is_exact;
    const auto found = values_[i].find(KeyOf(info.id, scope));
    if (found != values_[i].end()) figure.values.push_back(found->second);
    if (!has_whole && figure.why_incomplete.empty()) {
      figure.why_incomplete = run.source + " is incomplete (" + Missing(run) + ")";
    }
  }
  if (figure.values.empty()) {
    figure.why_missing = WhyMissing(info, scope);
    figure.is_unknown = !WhyNotRecorded(set_.runs.front(), info.id).empty();
  }
  figure.may_be_too_low = info.grows_with_records;
  return figure;
}

std::vector<std::string> Figures::ScopesLike(std::string_view id, const std::string& pattern) const {
  if (pattern.empty()) return {""};
  const ScopePattern compiled(pattern);
  std::vector<std::string> scopes;
  for (const std::string& scope : ScopesOf(id)) {
    // The name of a kernel may have a * in it, and then stands for itself.
    if (scope == pattern) return {pattern};
    if (compiled.Matches(scope)) scopes.push_back(scope);
  }
  if (scopes.empty() && !compiled.IsWild()) return {pattern};
  return scopes;
}

}  // namespace gprof
