#include "gate/check/figures.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "gate/budget/rule_words.h"
#include "gate/budget/scope_pattern.h"

namespace gprof {
namespace {

// What the host recorded is whole when GPU work alone is missing.
constexpr std::string_view kHostFigures[] = {
    "api.",           "nvtx.ranges",      "nvtx.marks", "nvtx.payload",       "nvtx.total_ns", "nvtx.self_ns",
    "launches.count", "launches.call_ns", "step.",      "memory.allocations", "memory.frees",  "memory.peak_bytes"};

bool IsHostFigure(std::string_view id) {
  return id != "step.idle_percent" && std::any_of(std::begin(kHostFigures), std::end(kHostFigures),
                                                  [id](std::string_view prefix) { return id.starts_with(prefix); });
}

// Every record that is missing can only have made it smaller.
bool GrowsWithRecords(const MetricInfo& info) {
  if (info.id == "memory.leaked_bytes" || info.id == "streams.unused" || info.id == "memcpy.link_bytes_per_second")
    return false;
  const bool counts = info.unit == Unit::kCount || info.unit == Unit::kBytes;
  return (counts && info.is_deterministic) || info.id == "kernels.total_ns" || info.id == "memcpy.total_ns";
}

// Figures of what is missing are never missing themselves.
bool IsWholeFor(const Measurement& run, std::string_view id) {
  return run.is_complete || id.starts_with("health.") || (run.is_host_complete && IsHostFigure(id));
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
  if (info.id.starts_with("step.")) return "no NVTX range was detected as a step; name it with --step";
  if (info.id.starts_with("occupancy.")) return "this build of gprof-cli has no occupancy analysis";
  return "no run has this metric";
}

Figure Figures::Of(const MetricInfo& info, const std::string& scope) const {
  const bool has_whole =
      std::any_of(set_.runs.begin(), set_.runs.end(), [&](const Measurement& run) { return IsWholeFor(run, info.id); });
  Figure figure;
  figure.is_exact = info.is_deterministic;
  for (std::size_t i = 0; i < set_.runs.size(); ++i) {
    const Measurement& run = set_.runs[i];
    if (has_whole && !IsWholeFor(run, info.id)) continue;
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
  figure.may_be_too_low = GrowsWithRecords(info);
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
