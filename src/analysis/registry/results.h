// What the analyses found in a trace, to be read in its place: the contents of a .gpart file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "analysis/facts/judged_time.h"
#include "analysis/facts/operations/used_devices.h"
#include "analysis/facts/recording/clock_quality.h"
#include "analysis/facts/recording/recording_cost.h"
#include "analysis/registry/compare_traces.h"
#include "analysis/topics/breakdown/breakdown.h"
#include "gprof/analysis.h"
#include "gprof/trace.h"

namespace gprof {

struct KeptAnalysis {
  std::string name;
  AnalysisResult result;
};

// How many records of a kind there were: "kernels", "api_calls".
struct KeptAmount {
  std::string key;
  int64_t count = 0;
};

struct Results {
  TraceHead head;
  std::vector<KeptAnalysis> analyses;  // in the order of the registry
  std::vector<Table> stats;            // of `stats`, what no analysis has (report/nsys/nsys_reports.h)
  std::vector<TraceSummary> traces;    // one for each rank
  std::vector<KeptAmount> amounts;     // in the order in which `info` shows them
  FactSet unknown = FactSet::None();   // all of UnknownFacts
  RecordingCost cost;                  // threads are those of the head
  ClockQuality clocks;
  JudgedTime judged;
  Breakdown breakdown;
  std::vector<bool> is_used;  // by device: it had operations
  std::vector<std::string> why_no_gpu_work;
};

std::vector<uint32_t> UsedDevices(const Results& results);  // those that have GPU work

// What `analysis` found; its tables cut to the rows that are asked for.
AnalysisResult ResultOf(const Analysis& analysis, const Results& results, const AnalysisOptions& options);
// Of each of them, without the metrics that are not known.
std::vector<AnalysisResult> ResultsOf(std::span<const Analysis* const> analyses, const Results& results,
                                      const AnalysisOptions& options);

}  // namespace gprof
