// The entry point of every analysis, one for each file <name>.cpp of this folder; registry.cpp lists them.
//
// To add one: write <name>.cpp, declare it here, add its line to registry.cpp and to CMakeLists.txt, and its metrics to
// metrics.cpp. Report, gates, diff and JSON follow from that.
#pragma once

#include "gprof/analysis.h"

namespace gprof {

AnalysisResult RunDevices(const Trace& trace, const AnalysisOptions& options);
AnalysisResult RunIdle(const Trace& trace, const AnalysisOptions& options);
AnalysisResult RunLaunches(const Trace& trace, const AnalysisOptions& options);
AnalysisResult RunKernels(const Trace& trace, const AnalysisOptions& options);
AnalysisResult RunSmallKernels(const Trace& trace, const AnalysisOptions& options);
AnalysisResult RunOccupancy(const Trace& trace, const AnalysisOptions& options);
AnalysisResult RunMemcpy(const Trace& trace, const AnalysisOptions& options);
AnalysisResult RunMemory(const Trace& trace, const AnalysisOptions& options);
AnalysisResult RunStreams(const Trace& trace, const AnalysisOptions& options);
AnalysisResult RunSync(const Trace& trace, const AnalysisOptions& options);
AnalysisResult RunApi(const Trace& trace, const AnalysisOptions& options);
AnalysisResult RunApiErrors(const Trace& trace, const AnalysisOptions& options);
AnalysisResult RunGraphs(const Trace& trace, const AnalysisOptions& options);
AnalysisResult RunStartup(const Trace& trace, const AnalysisOptions& options);
AnalysisResult RunBalance(const Trace& trace, const AnalysisOptions& options);
AnalysisResult RunNccl(const Trace& trace, const AnalysisOptions& options);
AnalysisResult RunCriticalPath(const Trace& trace, const AnalysisOptions& options);
AnalysisResult RunSteps(const Trace& trace, const AnalysisOptions& options);
AnalysisResult RunNvtx(const Trace& trace, const AnalysisOptions& options);
AnalysisResult RunHealth(const Trace& trace, const AnalysisOptions& options);

}  // namespace gprof
