// Judges few, skewed samples: whether a figure of two sets of runs is the same, better or worse, or whether nobody can
// tell. Pure arithmetic; knows nothing of traces. docs/statistics.md says in words what is done, and how well it works.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "gprof/analysis.h"

namespace gprof {

enum class Change : uint8_t { kSame, kImproved, kRegressed, kChanged, kInconclusive };  // kChanged: no better direction

struct SampleRules {
  Better better = Better::kLower;
  Unit unit = Unit::kCount;       // for the evidence: a percentage changes by points, all others by % of the base
  bool is_deterministic = false;  // compared exactly: any difference is one
  double min_relative = 0.02;     // of the base's median: smaller effects are not worth a word …
  double min_absolute = 0;        // … and neither are those below this, in the unit of the figure. Both must be met.
  double false_alarms = 0.01;     // how often identical builds may be judged different, at most
  double max_hidden = 0.05;       // of the base's median: "same" rules out larger changes (and those that count) …
  double missed = 0.1;            // … and is wrong about one of just this size so often, at most
};

struct SampleComparison {
  Change change = Change::kInconclusive;
  double base_median = 0, new_median = 0;
  double shift = 0;                      // estimate of new - base (Hodges–Lehmann), in the unit of the figure
  double shift_low = 0, shift_high = 0;  // its confidence interval
  double confidence = 0;                 // of that interval: 0.95 or more, less where there are too few runs for it
  double ruled_out_below = 0;            // changes outside of these are ruled out …
  double ruled_out_above = 0;
  double ruled_out_risk = 0.5;  // … with this risk each: `missed` or less, more where there are too few runs for it
  double relative = 0;          // shift / base median; 0 where that is 0
  double p_value = 1;           // two-sided, Mann–Whitney or signed ranks, exact for small sets
  double effect = 0.5;          // how often a new run is larger than a base run (common language effect size)
  uint32_t base_count = 0, new_count = 0;
  uint32_t runs_needed = 0;  // of each set for a verdict, guessed from shift and spread; 0: there are enough
  std::string evidence;      // "5 vs 5 runs: +3.9% (97% CI +3.1%..+4.9%), p=0.008"
};

SampleComparison CompareSamples(std::span<const double> base, std::span<const double> now, const SampleRules& rules);

// base[i] and now[i] ran side by side, best in the order base new, new base, …: what drifts slowly is the same for both
// and cancels out. Sets of different sizes have no pairs and are compared as sets.
SampleComparison ComparePairs(std::span<const double> base, std::span<const double> now, const SampleRules& rules);

// How many runs of each set it takes at least to show any change, however large.
uint32_t LeastRunsForAChange(double false_alarms);

}  // namespace gprof
