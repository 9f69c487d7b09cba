#include <fmt/format.h>

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

}  // namespace gprof::cli
