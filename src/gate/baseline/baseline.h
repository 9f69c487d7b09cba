// Baselines: what runs are compared with, as small documents (gprof.baseline/1) in a folder that may be checked in.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "gate/runs/measurement.h"

namespace gprof {

inline constexpr const char* kBaselineSchema = "gprof.baseline/1";

// When, by whom and why a baseline was made or replaced.
struct BaselineChange {
  std::string time;  // "2026-11-21T22:30:00Z"
  std::string who, reason, commit;
  std::size_t run_count = 0;
  std::map<std::string, double> medians;  // of the figures of whole runs, as they were until the next change
};

struct Baseline {
  std::string name;
  BaselineChange made;                  // of the runs that are in it
  std::vector<BaselineChange> history;  // what it was before, the oldest first
  RunSet set;
};

// Throws Error in the name of `path`.
Baseline ParseBaseline(const std::string& text, const std::string& path);
std::string BaselineText(const Baseline& baseline);

// The runs of `set` take the place of those in `baseline`, which go into the history as their medians.
void Accept(RunSet set, BaselineChange change, Baseline* baseline);

// Medians of the figures of the whole runs.
std::map<std::string, double> MediansOf(const RunSet& set);

// Throws Error for what is no name: "main", "h200-nightly", without slashes or dots at its beginning.
void CheckBaselineName(const std::string& name);

}  // namespace gprof
