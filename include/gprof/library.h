// What programs outside of this repository call: a trace of any tool in, the model, results and the report out.
// docs/library.md describes it; find_package(gprof) brings it. Everything throws Error (gprof/error.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gprof/analysis.h"
#include "gprof/error.h"
#include "gprof/trace.h"

namespace gprof {

// As LoadTrace (gprof/trace.h), and takes captures of other tools as well: SQLite exports of Nsight Systems, JSON of
// torch.profiler. Trace::recorder says whose it is, Trace::Lacks() what is not known of it.
Trace ReadTrace(const std::string& path);

// The results of all analyses, in the order of AllAnalyses().
std::vector<AnalysisResult> RunAllAnalyses(const Trace& trace, const AnalysisOptions& options = {});

// By their names, "api_calls", "nvtx": what the reader of the trace says that it does not tell.
std::vector<std::string_view> LackingFacts(const Trace& trace);

// What `gprof-cli report --format json` prints: "schema": "gprof.report/1".
std::string ReportJson(const Trace& trace, const AnalysisOptions& options = {});

}  // namespace gprof
