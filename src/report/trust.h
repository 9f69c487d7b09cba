// How far a report can be trusted, in one place: what is missing, how well the clocks agree, what recording cost, what
// was recorded, and by which versions. Always about the whole trace, whatever was selected.
#pragma once

#include <string>
#include <vector>

#include "analysis/trust/clock_quality.h"
#include "analysis/trust/recording_cost.h"
#include "gprof/analysis.h"
#include "gprof/trace.h"
#include "report/json_values.h"

namespace gprof {

struct Trust {
  const Trace& trace;
  std::vector<Finding> health;  // HealthOf
  RecordingCost cost;
  ClockQuality clocks;
};

Trust TrustOf(const AnalysisInput& input);

// "estimated slow-down 0.4% to 1.9%", what recording cost; empty where that is not known.
std::string OverheadText(const Trust& trust);

// A row for each question: text and Markdown show it at the end, CSV as the table "trust".
Table TrustTable(const Trust& trust);

// The same as facts.
Json TrustJson(const Trust& trust);

}  // namespace gprof
