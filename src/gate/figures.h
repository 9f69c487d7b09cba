// The values of one figure in the runs of a set, as far as a rule may rest on them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gate/measurement.h"

namespace gprof {

struct Figure {
  std::vector<double> values;   // of the runs that have it
  std::size_t run_count = 0;    // that were looked at
  std::string why_missing;      // where no run has it
  std::string why_incomplete;   // the runs that it comes from may lack something that matters to it
  bool may_be_too_low = false;  // … which can only have made it smaller

  bool IsThroughout() const { return values.size() == run_count; }
};

// Complete runs alone, where there are any.
Figure FigureOf(const RunSet& set, const MetricInfo& info, const std::string& scope);

// Scopes of the figure in any of the runs that the pattern stands for; a pattern without wild characters is itself one.
std::vector<std::string> ScopesLike(const RunSet& set, std::string_view id, const std::string& pattern);

}  // namespace gprof
