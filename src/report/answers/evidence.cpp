#include "report/answers/evidence.h"

#include <algorithm>
#include <charconv>
#include <map>

#include "base/text.h"

namespace gprof {
namespace {

constexpr std::size_t kLongestPath = 120;

}  // namespace

std::vector<NamedFinding> NamedFindings(const Report& report) {
  std::vector<NamedFinding> named;
  std::map<std::string, int, std::less<>> seen;
  for (RankedFinding& ranked : FindingsToShow(report)) {
    const std::string& id = ranked.finding->id;
    std::string evidence = id + "#" + std::to_string(++seen[id]);
    named.push_back({std::move(ranked), std::move(evidence)});
  }
  return named;
}

const NamedFinding* FindNamed(const std::vector<NamedFinding>& findings, std::string_view word) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error == std::errc() && end == word.data() + word.size()) {
    return number >= 1 && number <= findings.size() ? &findings[number - 1] : nullptr;
  }
  const auto found = std::ranges::find_if(
      findings, [word](const NamedFinding& f) { return f.evidence == word || f.ranked.finding->id == word; });
  return found == findings.end() ? nullptr : &*found;
}

std::string CommandWithTrace(const Report& report, std::string_view command, std::string_view rest) {
  const std::string path = ShellQuoted(report.Whole().head->path);
  const std::string trace = report.Whole().head->path.empty() || path.size() > kLongestPath ? "TRACE" : path;
  return "gprof-cli " + std::string(command) + " " + trace + (rest.empty() ? "" : " " + std::string(rest));
}

std::string CutText(std::string_view text, std::size_t most) {
  if (text.size() <= most) return std::string(text);
  constexpr std::string_view kDots = "...";
  std::size_t end = most > kDots.size() ? most - kDots.size() : 0;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return std::string(text.substr(0, end)) + std::string(kDots);
}

}  // namespace gprof
