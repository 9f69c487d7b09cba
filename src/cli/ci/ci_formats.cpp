// What the forms for CI systems share.
#include "cli/ci/ci_formats.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>
#include <system_error>
#include <utility>

namespace gprof::cli {
namespace {

int RankOf(Verdict verdict) {
  switch (verdict) {
    case Verdict::kFail:
      return 0;
    case Verdict::kInconclusive:
      return 1;
    case Verdict::kWarn:
      return 2;
    case Verdict::kPass:
      break;
  }
  return 3;
}

// How far beyond its limit, as a part of it. Of what nobody can judge, nobody knows.
double ExcessOf(const RuleResult& rule) {
  if (rule.verdict == Verdict::kInconclusive || !rule.value || !rule.limit || *rule.value == *rule.limit) return 0;
  if (*rule.limit == 0) return std::numeric_limits<double>::infinity();
  const double excess = std::fabs((*rule.value - *rule.limit) / *rule.limit);
  return std::isnan(excess) ? 0 : excess;
}

// Messages about a budget begin with its path and the line: "perf.json:7: …".
void TakePlace(RuleResult* rule) {
  const std::string& text = rule->message;
  for (std::size_t colon = text.find(':'); colon != std::string::npos; colon = text.find(':', colon + 1)) {
    const char* const end = text.data() + text.size();
    uint32_t line = 0;
    const auto [stop, failed] = std::from_chars(text.data() + colon + 1, end, line);
    if (failed != std::errc() || !std::string_view(stop, static_cast<std::size_t>(end - stop)).starts_with(": "))
      continue;
    std::error_code error;
    if (!std::filesystem::is_regular_file(text.substr(0, colon), error)) continue;
    rule->file = text.substr(0, colon);
    rule->line = line;
    return;
  }
}

}  // namespace

std::vector<std::string> LinesOf(const RuleResult& rule) {
  std::vector<std::string> lines;
  for (const std::string* text : {&rule.message, &rule.reason, &rule.evidence}) {
    if (!text->empty()) lines.push_back(*text);
  }
  return lines;
}

std::vector<const RuleResult*> WorstFirst(const CheckResult& result) {
  std::vector<const RuleResult*> rules;
  for (const RuleResult& rule : result.rules) {
    if (rule.verdict != Verdict::kPass) rules.push_back(&rule);
  }
  std::stable_sort(rules.begin(), rules.end(), [](const RuleResult* a, const RuleResult* b) {
    return std::pair(RankOf(a->verdict), -ExcessOf(*a)) < std::pair(RankOf(b->verdict), -ExcessOf(*b));
  });
  return rules;
}

std::string PathInRepository(const std::string& path, const std::filesystem::path& root) {
  const std::string normal = std::filesystem::path(path).lexically_normal().string();
  if (root.empty()) return normal;
  std::error_code error;
  const std::filesystem::path inside = std::filesystem::proximate(path, root, error);
  const bool is_outside = error || inside.empty() || inside.is_absolute() || *inside.begin() == "..";
  return is_outside ? normal : inside.string();
}

CheckResult ResultOfError(const Error& error) {
  CheckResult result;
  result.name = "gprof-cli check";
  RuleResult rule;
  rule.rule = "check completed";
  rule.message = error.what();
  rule.reason = error.hint();
  TakePlace(&rule);
  result.rules.push_back(std::move(rule));
  result.line = std::string("ERROR: not judged: ") + error.what();
  return result;
}

}  // namespace gprof::cli
