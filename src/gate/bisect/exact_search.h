// The search for figures that do not depend on timing (launches, bytes): one run of a version says all.
#pragma once

#include "gate/bisect/change_search.h"

namespace gprof {

class ExactBisection : public ChangeSearch {
 public:
  using ChangeSearch::ChangeSearch;
  std::optional<uint32_t> Next(std::span<const double> costs = {}) const override;
  // Every place at which the figure changes between versions that differ; what changes and changes back between two
  // that agree is not looked for.
  SearchResult Result() const override;
};

}  // namespace gprof
