// The values of one figure in the runs of a set, as far as a rule may rest on them.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "gate/runs/measurement.h"

namespace gprof {

struct Figure {
  std::vector<double> values;   // of the runs that have it
  std::size_t run_count = 0;    // that were looked at
  std::string why_missing;      // where no run has it
  bool is_unknown = false;      // … because nobody recorded it
  std::string why_incomplete;   // the runs that it comes from may lack something that matters to it
  bool may_be_too_low = false;  // … which can only have made it smaller
  bool is_exact = false;        // a counter that does not depend on timing

  bool IsThroughout() const { return values.size() == run_count; }
};

// Finds the figures of a set, which has to outlive it.
class Figures {
 public:
  explicit Figures(const RunSet& set);

  // Of complete runs alone, where there are any.
  Figure Of(const MetricInfo& info, const std::string& scope) const;

  // Scopes of the figure in any of the runs that the pattern stands for; one without wild characters stands for itself.
  std::vector<std::string> ScopesLike(std::string_view id, const std::string& pattern) const;

 private:
  std::string WhyMissing(const MetricInfo& info, const std::string& scope) const;
  const std::vector<std::string>& ScopesOf(std::string_view id) const;

  const RunSet& set_;
  std::vector<std::unordered_map<std::string, double>> values_;            // of each run, by "id@scope"
  std::unordered_map<std::string_view, std::vector<std::string>> scopes_;  // by id, in the order of the runs
};

}  // namespace gprof
