#include <fmt/format.h>

#include <cctype>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "cli/ci/ci_formats.h"
#include "report/json_values.h"

namespace gprof::cli {
namespace {

constexpr uint64_t kHashStart = 14695981039346656037u, kHashFactor = 1099511628211u;  // FNV-1a

uint64_t HashOf(std::string_view text, uint64_t hash) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * kHashFactor;
  return hash;
}

// The same for the same rule in every pipeline, whatever the figure is, so that GitLab sees what is new and what was
// fixed.
std::string FingerprintOf(const std::string& path, const std::string& rule, int number) {
  const std::string text = path + '\n' + rule + '\n' + std::to_string(number);
  return fmt::format("{:016x}{:016x}", HashOf(text, kHashStart), HashOf(text, ~kHashStart));
}

const char* SeverityOf(Verdict verdict) {
  return verdict == Verdict::kFail ? "critical" : verdict == Verdict::kInconclusive ? "major" : "minor";
}

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

}  // namespace

std::string RenderCodeQuality(const CheckResult& result, const std::filesystem::path& root,
                              const std::string& command_file) {
  Json issues = Json::array();
  std::map<std::pair<std::string, std::string>, int> seen;
  for (const RuleResult* rule : WorstFirst(result)) {
    const std::string path = rule->file.empty() ? command_file : PathInRepository(rule->file, root);
    std::string text;
    for (const std::string& line : LinesOf(*rule)) text += (text.empty() ? "" : "; ") + line;
    issues.push_back({{"description", Printable(rule->rule + ": " + text)},
                      {"check_name", rule->metric.empty() ? "gprof-cli" : rule->metric},
                      {"fingerprint", FingerprintOf(path, rule->rule, ++seen[{path, rule->rule}])},
                      {"severity", SeverityOf(rule->verdict)},
                      {"location", {{"path", path}, {"lines", {{"begin", rule->line == 0 ? 1 : rule->line}}}}}});
  }
  return ToText(issues);
}

std::string RenderOpenMetrics(const CheckResult& result) {
  // All samples of a metric have to stand together.
  std::map<std::string, std::map<std::string, double>> metrics;
  for (const RuleResult& rule : result.rules) {
    // What could not be judged may be wrong: a trace without its end has the figures of its beginning.
    if (rule.verdict == Verdict::kInconclusive) continue;
    if (rule.value && std::isfinite(*rule.value)) metrics[rule.metric].try_emplace(rule.scope, *rule.value);
  }
  std::string out;
  for (const auto& [id, scopes] : metrics) {
    const std::string name = MetricName(id);
    out += "# TYPE " + name + " gauge\n";
    for (const auto& [scope, value] : scopes) {
      out += name + (scope.empty() ? "" : "{scope=\"" + LabelValue(scope) + "\"}") + " " + NumberText(value) + "\n";
    }
  }
  const char* const rules = "gprof_check_rules";
  out += std::string("# TYPE ") + rules + " gauge\n# HELP " + rules + " Rules of the budget by verdict\n";
  for (const Verdict verdict : {Verdict::kPass, Verdict::kWarn, Verdict::kFail, Verdict::kInconclusive}) {
    int64_t count = 0;
    for (const RuleResult& rule : result.rules) count += rule.verdict == verdict ? 1 : 0;
    out += fmt::format("{}{{verdict=\"{}\"}} {}\n", rules, VerdictName(verdict), count);
  }
  return out + "# EOF\n";
}

}  // namespace gprof::cli
