// Scopes that a rule stands for: "gpu*", "nvtx:*/step", "kernel:gemm", "kernel:/REGEX/".
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/expression/regular_expression.h"

namespace gprof {

class ScopePattern {
 public:
  // Throws Error(kUsage) for what is no regular expression.
  explicit ScopePattern(std::string pattern);

  // It may stand for several: a kernel's name may, as it is given without its signature.
  bool IsWild() const { return is_wild_; }
  bool Matches(std::string_view scope) const;

 private:
  std::string pattern_;
  std::optional<RegularExpression> expression_;
  bool is_wild_;
};

}  // namespace gprof
