// Several traces of one run beside each other: how far apart they are, and which of them hold up the others.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gprof/analysis.h"
#include "gprof/trace.h"

namespace gprof {

struct TraceSummary {
  std::string path;
  std::string ranks;            // "0", "0-3"; empty without
  std::string host;             // of its first process
  int64_t wall_ns = 0;          // from the first to the last record
  int64_t window_ns = 0;        // of its GPUs, summed
  int64_t busy_ns = 0;          // the same
  std::string_view idle_cause;  // the largest, empty without idle time
  int64_t idle_cause_ns = 0;
  int64_t kernels = 0;
  bool is_complete = true;
  bool is_wall_straggler = false, is_busy_straggler = false;  // set by FindStragglers
  int64_t IdleNs() const { return window_ns - busy_ns; }
};

TraceSummary SummarizeTrace(const AnalysisInput& input);
// With what these two analyses found in it.
TraceSummary SummarizeTrace(const Trace& trace, const AnalysisResult& devices, const AnalysisResult& idle);

// A straggler took longer, or its GPUs were busy for longer, than the median of all by more than 5 times the median
// absolute deviation and 1 %; of 2 to 4 traces, by more than 10 %.
void FindStragglers(std::vector<TraceSummary>* traces);

// Tables "traces" and "spread", and a finding for each straggler.
AnalysisResult CompareTraces(const std::vector<TraceSummary>& traces, const AnalysisOptions& options);

}  // namespace gprof
