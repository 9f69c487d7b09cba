#include "gate/budget/scope_pattern.h"

#include <utility>

#include "base/demangle.h"
#include "base/text.h"
#include "gprof/error.h"
#include "trace/reshape/select.h"

namespace gprof {
namespace {

constexpr std::string_view kKernelPrefix = "kernel:";

bool IsExpression(std::string_view pattern) {
  return pattern.starts_with("kernel:/") && pattern.size() > kKernelPrefix.size() + 1 && pattern.ends_with("/");
}

[[noreturn]] void Fail(const std::string& pattern, const std::regex_error& error) {
  const std::string expression = pattern.substr(kKernelPrefix.size() + 1, pattern.size() - kKernelPrefix.size() - 2);
  throw Error(ExitCode::kUsage, "'" + Printable(expression) + "' is not a valid regular expression: " + error.what(),
              "example: @kernel:/gemm|conv/");
}

}  // namespace

ScopePattern::ScopePattern(std::string pattern)
    : pattern_(std::move(pattern)),
      is_wild_(IsExpression(pattern_) || pattern_.find_first_of("*?") != std::string::npos) {
  if (!IsExpression(pattern_)) return;
  try {
    expression_.emplace(pattern_.begin() + kKernelPrefix.size() + 1, pattern_.end() - 1);
  } catch (const std::regex_error& error) {
    Fail(pattern_, error);
  }
}

bool ScopePattern::Matches(std::string_view scope) const {
  if (pattern_ == scope) return true;
  if (!pattern_.starts_with(kKernelPrefix)) return is_wild_ && MatchesGlob(pattern_, scope);
  if (!scope.starts_with(kKernelPrefix)) return false;
  const std::string_view name = scope.substr(kKernelPrefix.size());
  if (expression_) return Finds(name);
  return MatchesGlob(pattern_, scope) || MatchesGlob(pattern_, std::string(kKernelPrefix) + ShortName(name));
}

// std::regex goes deeper with every character of the text, so that a name without end would end the program.
bool ScopePattern::Finds(std::string_view name) const {
  constexpr std::size_t kLongestSearched = 4096;
  try {
    return std::regex_search(std::string(name.substr(0, kLongestSearched)), *expression_);
  } catch (const std::regex_error& error) {
    Fail(pattern_, error);
  }
}

}  // namespace gprof
