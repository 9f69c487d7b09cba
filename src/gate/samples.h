// Judges few, skewed samples: whether a figure of two sets of runs is the same, better or worse, or whether nobody can
// tell. Pure arithmetic; knows nothing of traces.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "gprof/analysis.h"

namespace gprof {

enum class Change : uint8_t { kSame, kImproved, kRegressed, kChanged, kInconclusive };  // kChanged: no better direction

struct SampleRules {
  Better better = Better::kLower;
  bool is_deterministic = false;      // compared exactly: any difference is one
  double min_relative = 0.02;         // of the base's median: smaller effects are not worth a word …
  double min_absolute = 0;            // … and neither are those below this, in the unit of the figure. Both must be met.
  double false_alarms = 0.01;         // how often identical builds may be judged different, at most
};

struct SampleComparison {
  Change change = Change::kInconclusive;
  double base_median = 0, new_median = 0;
  double shift = 0;                   // estimate of new - base (Hodges–Lehmann), in the unit of the figure
  double shift_low = 0, shift_high = 0;  // its confidence interval
  double relative = 0;                // shift / base median; 0 where that is 0
  double p_value = 1;                 // of the two-sided Mann–Whitney test, exact for small sets without ties
  double effect = 0.5;                // how often a new run is larger than a base run (common language effect size)
  uint32_t base_count = 0, new_count = 0;
  uint32_t runs_needed = 0;           // of each set to tell an effect of min_relative, 0: there are enough
  std::string evidence;               // "5 and 5 runs, p = 0.008, 95 % of the differences between +3.1 % and +4.9 %"
};

SampleComparison CompareSamples(std::span<const double> base, std::span<const double> now, const SampleRules& rules);

}  // namespace gprof
