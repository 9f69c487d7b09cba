// What a partial has in place of the records of a trace: what the analyses found in them. Trace::kept of what
// fleet/read_input.h reads from a .gpart file; whoever asks for results gets these.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/breakdown/breakdown.h"
#include "analysis/idle/gaps/steady_time.h"
#include "analysis/result/compare_traces.h"
#include "analysis/trust/clock_quality.h"
#include "analysis/trust/recording_cost.h"
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

struct KeptResults {
  std::vector<KeptAnalysis> analyses;  // in the order of the registry
  std::vector<Table> stats;            // of `stats`, what no analysis has (report/nsys/nsys_reports.h)
  std::vector<TraceSummary> traces;    // one for each rank
  std::vector<KeptAmount> amounts;     // in the order in which `info` shows them
  FactSet unknown = FactSet::None();   // all of UnknownFacts
  RecordingCost cost;                  // threads are those of the trace that holds this
  ClockQuality clocks;
  JudgedTime judged;
  Breakdown breakdown;
  std::vector<bool> is_used;  // by device: it had operations
  std::vector<std::string> why_no_gpu_work;
};

// Of a trace with records or without.
bool HasGpuWork(const Trace& trace);
bool HasGpuWork(const Trace& trace, size_t device);
std::vector<uint32_t> UsedDevices(const Trace& trace);  // those that have GPU work

// What `analysis` finds, or found when the partial was made; its tables cut to the rows that are asked for.
AnalysisResult ResultOf(const Analysis& analysis, const AnalysisInput& input, const AnalysisOptions& options);

}  // namespace gprof
