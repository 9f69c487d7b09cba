#include <fmt/format.h>

#include <cctype>
#include <cmath>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "cli/ci/ci_formats.h"
#include "gprof/analysis.h"

namespace gprof::cli {
namespace {

// "gpu.idle_percent" as "gprof_gpu_idle_percent".
std::string MetricName(std::string_view id) {
  std::string name = "gprof_";
  for (const char c : id) name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
}

std::string LabelValue(std::string_view text) {
  std::string out;
  for (const char c : Printable(text)) {
    if (c == '\\' || c == '"') out += '\\';
    out += c;
  }
  return out;
}

std::string NumberText(double value) {
  constexpr double kLargestExact = 9007199254740992.0;  // 2^53
  if (value == std::floor(value) && std::fabs(value) < kLargestExact) return fmt::format("{:.0f}", value);
  return fmt::format("{}", value);
}

std::string Label(std::string_view name, std::string_view value) {
  return value.empty() ? "" : std::string(name) + "=\"" + LabelValue(value) + "\"";
}

std::string Braced(const std::vector<std::string>& labels) {
  std::string text;
  for (const std::string& label : labels) {
    if (!label.empty()) text += (text.empty() ? "" : ",") + label;
  }
  return text.empty() ? "" : "{" + text + "}";
}

// "kernel:saxpy" as kernel="saxpy", "gpu0" as device="gpu0".
std::string ScopeLabel(std::string_view scope) {
  const std::size_t colon = scope.find(':');
  if (scope.empty()) return "";
  if (colon == std::string_view::npos) return Label("device", scope);
  const std::string_view kind = scope.substr(0, colon);
  return kind == "kernel" || kind == "nvtx" ? Label(kind, scope.substr(colon + 1)) : Label("scope", scope);
}

// What stands before the samples of a metric.
std::string Family(std::string_view name, std::string_view meaning) {
  std::string text = fmt::format("# TYPE {} gauge\n", name);
  if (!meaning.empty()) text += fmt::format("# HELP {} {}\n", name, meaning);
  return text;
}

std::vector<std::string> CommonLabels(const CheckResult& result) {
  const Fingerprint& made = result.fingerprint;
  std::string gpus;
  for (const std::string& gpu : made.gpus) gpus += (gpus.empty() ? "" : ", ") + gpu;
  return {Label("budget", result.name), Label("commit", made.commit), Label("host", made.host), Label("gpu", gpus)};
}

// `labels_of` makes the labels of a sample from its scope.
template <class F>
std::string Render(const CheckResult& result, const std::vector<std::string>& common, F labels_of) {
  // All samples of a metric have to stand together.
  std::map<std::string, std::map<std::string, double>> metrics;
  for (const RuleResult& rule : result.rules) {
    // What could not be judged may be wrong: a trace without its end has the figures of its beginning.
    if (!rule.is_judged || rule.verdict == Verdict::kInconclusive) continue;
    if (rule.value && std::isfinite(*rule.value)) metrics[rule.metric].try_emplace(rule.scope, *rule.value);
  }
  std::string out;
  for (const auto& [id, scopes] : metrics) {
    const std::string name = MetricName(id);
    const MetricInfo* const info = FindMetric(id);
    out += Family(name, info == nullptr ? "" : info->meaning);
    for (const auto& [scope, value] : scopes) {
      std::vector<std::string> labels = common;
      labels.push_back(labels_of(scope));
      out += name + Braced(labels) + " " + NumberText(value) + "\n";
    }
  }
  const char* const rules = "gprof_check_rules";
  out += Family(rules, "rules of the budget by verdict");
  for (const Verdict verdict : {Verdict::kPass, Verdict::kWarn, Verdict::kFail, Verdict::kInconclusive}) {
    int64_t count = 0;
    for (const RuleResult& rule : result.rules) count += rule.verdict == verdict ? 1 : 0;
    std::vector<std::string> labels = common;
    labels.push_back(Label("verdict", VerdictName(verdict)));
    out += fmt::format("{}{} {}\n", rules, Braced(labels), count);
  }
  return out + "# EOF\n";
}

}  // namespace

std::string RenderOpenMetrics(const CheckResult& result) {
  return Render(result, {}, [](const std::string& scope) { return Label("scope", scope); });
}

std::string RenderLabelledMetrics(const CheckResult& result) {
  return Render(result, CommonLabels(result), [](const std::string& scope) { return ScopeLabel(scope); });
}

}  // namespace gprof::cli
