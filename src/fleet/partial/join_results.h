// What was kept of many ranks as that of the run: sums, shares of sums, largest values, histograms. What that does not
// tell is unknown (Fact::kOneTrace).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "analysis/registry/results.h"
#include "fleet/rank/rank_summary.h"

namespace gprof {

// Ranks one after the other, so that no more than one of them is in memory.
class ResultsJoin {
 public:
  ResultsJoin();
  ~ResultsJoin();
  ResultsJoin(const ResultsJoin&) = delete;
  ResultsJoin& operator=(const ResultsJoin&) = delete;

  // `results` are those of one rank.
  void Add(const RankSummary& summary, Results results);
  size_t ranks() const;
  // A single one is as it was added.
  Results Finish();

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace gprof
