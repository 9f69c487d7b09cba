// Where in a row of versions a figure changed: a search that says which version to run next, and stops when it knows.
// Pure arithmetic; knows nothing of commits, builds or traces.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace gprof {

// Versions are numbered from 0, the good one, to the bad one.
struct SearchRun {
  uint32_t version = 0;
  double value = 0;
};

struct SearchRules {
  double min_relative = 0.02;  // smaller changes are not looked for
  double confidence = 0.97;    // the search ends when its answer is right with this probability
};

// A change between two versions that can be run; those between the two cannot.
struct FoundChange {
  uint32_t last_before = 0, first_after = 0;
  double probability = 0;  // that there is a change just here
  // Of the figure before it, with its 95 % interval.
  double effect = 0, effect_low = 0, effect_high = 0;
};

struct SearchResult {
  bool is_known = false;             // `changes` is right with the confidence asked for
  double probability = 0;            // of all that `changes` says
  std::vector<FoundChange> changes;  // in order; none: the figure is the same in all versions
  std::vector<FoundChange>
      likely;  // where there may be one, the likeliest first: no runs tell the versions of each apart
  double no_change_probability = 0;
  double noise = 0;         // spread of the figure from run to run, relative; 0 where it does not vary
  uint32_t runs_left = 0;   // that it takes to know, as a guess
  bool is_varying = false;  // a figure that was to be exact differs among runs of one version
};

class ChangeSearch {
 public:
  ChangeSearch(uint32_t versions, const SearchRules& rules);
  virtual ~ChangeSearch() = default;

  // In the order in which they were made: what drifts is told from what changed by that order.
  void Add(const SearchRun& run) { runs_.push_back(run); }
  // The version cannot be built or run.
  void Skip(uint32_t version);

  // The version to run next; nothing: the search is over. `costs` has the time that a run of each version takes, what
  // it takes to build it included; empty: all are the same.
  virtual std::optional<uint32_t> Next(std::span<const double> costs = {}) const = 0;
  virtual SearchResult Result() const = 0;

 protected:
  std::vector<uint32_t> versions_;  // that can be run, in order
  SearchRules rules_;
  std::vector<SearchRun> runs_;
};

}  // namespace gprof
