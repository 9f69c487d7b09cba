// What the windows of one trace say: by how much a unit of progress took longer where a thing was delayed, compared
// with the windows beside it in which nothing was. Those of several runs are simply put together.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/facts/delays/program_progress.h"
#include "analysis/facts/delays/things.h"
#include "gprof/analysis.h"

namespace gprof {

struct DelaySample {
  std::string thing;
  int64_t delay_ns = 0;    // of each instance
  double inserted_ns = 0;  // in each unit of progress
  double longer_ns = 0;    // by which a unit took longer than beside the window
  int64_t units = 0;       // of progress in the window
};

struct DelaySamples {
  std::vector<DelaySample> samples;
  int64_t windows = 0;          // with a delay
  int64_t unusable = 0;         // of these, as there was too little progress in them or beside them
  std::string progress;         // name; empty: none was found
  int64_t undelayed_units = 0;  // of progress in windows without a delay
  double undelayed_ns = 0;      // that they took
  std::vector<ThingUse> uses;   // in these

  // What an undelayed unit takes; 0 where there is none.
  double UnitNs() const { return undelayed_units == 0 ? 0 : undelayed_ns / static_cast<double>(undelayed_units); }
  // By how much delays made the program slower, in windows with and without them together.
  double SlowDownPercent() const;
};

// `wanted` as for FindProgress.
DelaySamples ReadDelayWindows(const AnalysisInput& input, const std::string& wanted);
void Join(const DelaySamples& more, DelaySamples* all);

}  // namespace gprof
