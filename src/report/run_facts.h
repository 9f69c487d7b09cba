// What is known of a run besides what the analyses find: from its records, or as results have it that stand for them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/facts/recording/clock_quality.h"
#include "analysis/facts/recording/recording_cost.h"
#include "analysis/registry/results.h"
#include "gprof/analysis.h"
#include "gprof/trace.h"

namespace gprof {

struct RunFacts {
  const TraceHead* head;  // of a trace or results, which have to outlive this
  FactSet unknown;        // UnknownFacts
  std::vector<uint32_t> used_devices;
  std::vector<std::string> why_no_gpu_work;  // one sentence each; empty where there is GPU work
  std::vector<Finding> health;               // HealthOf
  RecordingCost cost;
  ClockQuality clocks;
  std::string sampled;                     // how CPU samples were taken, and what was refused
  std::vector<TraceSummary> stands_for{};  // the traces that these are the results of; of a trace none
};

RunFacts FactsOf(const AnalysisInput& input);
RunFacts FactsOf(const Results& results);

// What is missing from the trace or odd in it: what the analysis `health` finds, whichever analyses were asked for.
// Without the remark that there is no GPU work; see WhyNoGpuWork.
std::vector<Finding> HealthOf(const AnalysisInput& input);

}  // namespace gprof
