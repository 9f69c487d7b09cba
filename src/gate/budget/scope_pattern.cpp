#include "gate/budget/scope_pattern.h"

#include <utility>

#include "base/demangle.h"
#include "base/text.h"
#include "trace/reshape/select.h"

namespace gprof {
namespace {

constexpr std::string_view kKernelPrefix = "kernel:";

bool IsExpression(std::string_view pattern) {
  return pattern.starts_with("kernel:/") && pattern.size() > kKernelPrefix.size() + 1 && pattern.ends_with("/");
}

}  // namespace

ScopePattern::ScopePattern(std::string pattern)
    : pattern_(std::move(pattern)),
      is_wild_(IsExpression(pattern_) || pattern_.find_first_of("*?") != std::string::npos) {
  if (!IsExpression(pattern_)) return;
  const std::string_view inner = std::string_view(pattern_).substr(kKernelPrefix.size() + 1);
  expression_.emplace(inner.substr(0, inner.size() - 1), "example: @kernel:/gemm|conv/");
}

bool ScopePattern::Matches(std::string_view scope) const {
  if (pattern_ == scope) return true;
  if (!pattern_.starts_with(kKernelPrefix)) return is_wild_ && MatchesGlob(pattern_, scope);
  if (!scope.starts_with(kKernelPrefix)) return false;
  const std::string_view name = scope.substr(kKernelPrefix.size());
  if (expression_) return (*expression_)(name);
  return MatchesGlob(pattern_, scope) || MatchesGlob(pattern_, std::string(kKernelPrefix) + ShortName(name));
}

}  // namespace gprof
