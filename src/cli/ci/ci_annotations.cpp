#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/text.h"
#include "base/units.h"
#include "cli/ci/ci_formats.h"

namespace gprof::cli {
namespace {

constexpr std::size_t kLongestTitle = 200;  // columns; GitHub cuts at 255 characters
constexpr std::size_t kLongestLine = 1'000;

// Printable text has no line ends: those in `text` are ours.
std::string Escaped(std::string_view text, bool is_property) {
  std::string out;
  for (const char c : text) {
    if (c == '%') {
      out += "%25";
    } else if (c == '\n') {
      out += "%0A";
    } else if (c == ':' && is_property) {
      out += "%3A";
    } else if (c == ',' && is_property) {
      out += "%2C";
    } else {
      out += c;
    }
  }
  return out;
}

std::string Property(const char* name, const std::string& value) {
  return std::string(name) + "=" + Escaped(Printable(value), true);
}

std::string Annotation(const RuleResult& rule, const std::filesystem::path& root) {
  std::string out = rule.verdict == Verdict::kWarn ? "::warning " : "::error ";
  if (!rule.file.empty()) {
    out += Property("file", PathInRepository(rule.file, root)) + ",line=" + std::to_string(rule.line) + ",";
  }
  // A check that was not made has no figure.
  const std::string title =
      rule.metric.empty() ? "not judged" : std::string(VerdictName(rule.verdict)) + ": " + rule.rule;
  out += Property("title", ShortenMiddle(Printable(title), kLongestTitle)) + "::";
  std::string text;
  for (const std::string& line : LinesOf(rule)) {
    text += (text.empty() ? "" : "\n") + ShortenMiddle(Printable(line), kLongestLine);
  }
  return out + Escaped(text, false) + "\n";
}

}  // namespace

std::string RenderAnnotations(const CheckResult& result, const std::filesystem::path& root) {
  const std::vector<const RuleResult*> rules = WorstFirst(result);
  const std::size_t shown = rules.size() <= kMostAnnotations ? rules.size() : kMostAnnotations - 1;
  std::string out;
  for (std::size_t i = 0; i < shown; ++i) out += Annotation(*rules[i], root);
  if (shown == rules.size()) return out;
  const char* const level = rules[shown]->verdict == Verdict::kWarn ? "::warning " : "::error ";
  return out + level + Property("title", result.name) +
         "::" + CountOf(static_cast<int64_t>(rules.size() - shown), "more rule") + " did not pass\n";
}

}  // namespace gprof::cli
