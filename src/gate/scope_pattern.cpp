#include <regex>
#include <string>

#include "base/demangle.h"
#include "gate/budget.h"
#include "gprof/error.h"
#include "trace/select.h"

namespace gprof {
namespace {

constexpr std::string_view kKernel = "kernel:";

bool IsExpression(std::string_view pattern) {
  return pattern.starts_with("kernel:/") && pattern.size() > kKernel.size() + 1 && pattern.ends_with("/");
}

// std::regex goes deeper with every character of the text, so that a name without end would end the program.
bool FindsIn(std::string_view expression, std::string_view name) {
  constexpr std::size_t kLongestSearched = 4096;
  try {
    const std::regex compiled(expression.begin(), expression.end());
    const std::string text(name.substr(0, kLongestSearched));
    return std::regex_search(text, compiled);
  } catch (const std::regex_error& error) {
    throw Error(ExitCode::kUsage, "'" + std::string(expression) + "' is no regular expression: " + error.what(),
                "write for example @kernel:/gemm|conv/");
  }
}

}  // namespace

bool IsScopePattern(std::string_view pattern) {
  return IsExpression(pattern) || pattern.find_first_of("*?") != std::string_view::npos;
}

bool MatchesScope(std::string_view pattern, std::string_view scope) {
  if (pattern == scope) return true;
  if (!pattern.starts_with(kKernel)) return IsScopePattern(pattern) && MatchesGlob(pattern, scope);
  if (!scope.starts_with(kKernel)) return false;
  const std::string_view name = scope.substr(kKernel.size());
  if (IsExpression(pattern)) return FindsIn(pattern.substr(8, pattern.size() - 9), name);
  const std::string short_name = std::string(kKernel) + ShortName(name);
  return MatchesGlob(pattern, scope) || MatchesGlob(pattern, short_name);
}

}  // namespace gprof
