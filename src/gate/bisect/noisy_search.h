// The search for figures that vary from run to run: each run goes where it is expected to tell most for what it costs,
// which is near the middle of what is left. Runs of versions that are known to be good or bad by then are the
// reference.
#pragma once

#include "gate/bisect/change_search.h"
#include "gate/bisect/step_model.h"

namespace gprof {

class NoisySearch : public ChangeSearch {
 public:
  using ChangeSearch::ChangeSearch;
  std::optional<uint32_t> Next(std::span<const double> costs = {}) const override;
  SearchResult Result() const override;

 private:
  StepRules Rules() const;
  StepPosterior Judge() const;
  uint32_t RunsLeft(const StepPosterior& posterior) const;
};

}  // namespace gprof
