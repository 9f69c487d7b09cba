// Scopes that a rule stands for: "gpu*", "nvtx:*/step", "kernel:gemm", "kernel:/REGEX/".
#pragma once

#include <optional>
#include <regex>
#include <string>
#include <string_view>

namespace gprof {

class ScopePattern {
 public:
  // Throws Error(kUsage) for what is no regular expression.
  explicit ScopePattern(std::string pattern);

  // It may stand for several: a kernel's name may, as it is given without its signature.
  bool IsWild() const { return is_wild_; }
  // Throws Error(kUsage) for a regular expression that is too much for a name.
  bool Matches(std::string_view scope) const;

 private:
  bool Finds(std::string_view name) const;

  std::string pattern_;
  std::optional<std::regex> expression_;
  bool is_wild_;
};

}  // namespace gprof
