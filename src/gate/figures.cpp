#include "gate/figures.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "gate/budget.h"
#include "gate/rule_words.h"

namespace gprof {
namespace {

// What the host recorded is whole when GPU work alone is missing.
constexpr std::string_view kHostFigures[] = {"api.",         "nvtx.ranges",   "nvtx.marks",         "nvtx.payload",
                                             "nvtx.total_ns", "nvtx.self_ns",  "launches.count",     "launches.call_ns",
                                             "step.",         "memory.allocations", "memory.frees", "memory.peak_bytes"};

bool IsHostFigure(std::string_view id) {
  return id != "step.idle_percent" && std::any_of(std::begin(kHostFigures), std::end(kHostFigures),
                                                  [id](std::string_view prefix) { return id.starts_with(prefix); });
}

// Every record that is missing can only have made it smaller.
bool GrowsWithRecords(const MetricInfo& info) {
  if (info.id == "memory.leaked_bytes" || info.id == "streams.unused" || info.id == "memcpy.link_bytes_per_second") return false;
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
  return text.empty() ? "something is missing" : text;
}

std::string NearestScope(const RunSet& set, std::string_view id, const std::string& scope) {
  std::set<std::string> known;
  for (const Measurement& run : set.runs) {
    for (const Metric& metric : run.metrics) {
      if (metric.id == id && !metric.scope.empty()) known.insert(metric.scope);
    }
  }
  return Nearest(scope, {known.begin(), known.end()});
}

std::string WhyMissing(const RunSet& set, const MetricInfo& info, const std::string& scope) {
  const std::string why = WhyNotRecorded(set.runs.front(), info.id);
  if (!why.empty()) return why;
  if (!scope.empty()) {
    const std::string nearest = NearestScope(set, info.id, scope);
    return "no run has " + std::string(ScopeNoun(scope) == "GPU" ? "a " : "a figure of the ") +
           (ScopeNoun(scope) == "GPU" ? "figure of " : std::string(ScopeNoun(scope)) + " ") +
           scope.substr(scope.find(':') == std::string::npos ? 0 : scope.find(':') + 1) +
           (nearest.empty() ? "" : "; did you mean @" + nearest + "?");
  }
  if (info.id.starts_with("step.")) return "no NVTX range repeats like a step; --step names the one that is";
  if (info.id.starts_with("occupancy.")) return "this build of gprof-cli has no analysis of occupancy";
  return "no run has it";
}

}  // namespace

Figure FigureOf(const RunSet& set, const MetricInfo& info, const std::string& scope) {
  const bool has_whole = std::any_of(set.runs.begin(), set.runs.end(),
                                     [&](const Measurement& run) { return IsWholeFor(run, info.id); });
  Figure figure;
  for (const Measurement& run : set.runs) {
    if (has_whole && !IsWholeFor(run, info.id)) continue;
    ++figure.run_count;
    if (const Metric* metric = FindIn(run, info.id, scope)) figure.values.push_back(metric->value);
    if (!has_whole && figure.why_incomplete.empty()) {
      figure.why_incomplete = run.source + " is not complete (" + Missing(run) + ")";
    }
  }
  if (figure.values.empty()) figure.why_missing = WhyMissing(set, info, scope);
  figure.may_be_too_low = GrowsWithRecords(info);
  return figure;
}

std::vector<std::string> ScopesLike(const RunSet& set, std::string_view id, const std::string& pattern) {
  if (pattern.empty()) return {""};
  std::vector<std::string> scopes;
  std::set<std::string> seen;
  for (const Measurement& run : set.runs) {
    for (const Metric& metric : run.metrics) {
      if (metric.id != id || metric.scope.empty() || !seen.insert(metric.scope).second) continue;
      // The name of a kernel may have a * in it, and then stands for itself.
      if (metric.scope == pattern) return {pattern};
      if (MatchesScope(pattern, metric.scope)) scopes.push_back(metric.scope);
    }
  }
  if (scopes.empty() && !IsScopePattern(pattern)) return {pattern};
  return scopes;
}

}  // namespace gprof
