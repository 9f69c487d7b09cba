// The entry point of every analysis, one for each file <name>.cpp of this folder; registry.cpp lists them.
//
// To add one: write <name>.cpp, declare it here, add its line to registry.cpp and to CMakeLists.txt, and its metrics to
// metrics.cpp. Report, gates, diff and JSON follow from that.
#pragma once

#include "gprof/analysis.h"

namespace gprof {

AnalysisResult RunDevices(const AnalysisInput& input, const AnalysisOptions& options);
AnalysisResult RunIdle(const AnalysisInput& input, const AnalysisOptions& options);
AnalysisResult RunLaunches(const AnalysisInput& input, const AnalysisOptions& options);
AnalysisResult RunKernels(const AnalysisInput& input, const AnalysisOptions& options);
AnalysisResult RunSmallKernels(const AnalysisInput& input, const AnalysisOptions& options);
AnalysisResult RunKernelKinds(const AnalysisInput& input, const AnalysisOptions& options);
AnalysisResult RunGemms(const AnalysisInput& input, const AnalysisOptions& options);
AnalysisResult RunOccupancy(const AnalysisInput& input, const AnalysisOptions& options);
AnalysisResult RunMemcpy(const AnalysisInput& input, const AnalysisOptions& options);
AnalysisResult RunMemory(const AnalysisInput& input, const AnalysisOptions& options);
AnalysisResult RunStreams(const AnalysisInput& input, const AnalysisOptions& options);
AnalysisResult RunSync(const AnalysisInput& input, const AnalysisOptions& options);
AnalysisResult RunApi(const AnalysisInput& input, const AnalysisOptions& options);
AnalysisResult RunApiErrors(const AnalysisInput& input, const AnalysisOptions& options);
AnalysisResult RunHang(const AnalysisInput& input, const AnalysisOptions& options);
AnalysisResult RunDirectives(const AnalysisInput& input, const AnalysisOptions& options);
AnalysisResult RunMpi(const AnalysisInput& input, const AnalysisOptions& options);
AnalysisResult RunOsCalls(const AnalysisInput& input, const AnalysisOptions& options);
AnalysisResult RunThreads(const AnalysisInput& input, const AnalysisOptions& options);
AnalysisResult RunCpuFunctions(const AnalysisInput& input, const AnalysisOptions& options);
AnalysisResult RunPythonLines(const AnalysisInput& input, const AnalysisOptions& options);
AnalysisResult RunGraphs(const AnalysisInput& input, const AnalysisOptions& options);
AnalysisResult RunStartup(const AnalysisInput& input, const AnalysisOptions& options);
AnalysisResult RunBalance(const AnalysisInput& input, const AnalysisOptions& options);
AnalysisResult RunSharing(const AnalysisInput& input, const AnalysisOptions& options);
AnalysisResult RunNccl(const AnalysisInput& input, const AnalysisOptions& options);
AnalysisResult RunCriticalPath(const AnalysisInput& input, const AnalysisOptions& options);
AnalysisResult RunSteps(const AnalysisInput& input, const AnalysisOptions& options);
AnalysisResult RunNvtx(const AnalysisInput& input, const AnalysisOptions& options);
AnalysisResult RunModules(const AnalysisInput& input, const AnalysisOptions& options);
AnalysisResult RunOps(const AnalysisInput& input, const AnalysisOptions& options);
AnalysisResult RunHostLoad(const AnalysisInput& input, const AnalysisOptions& options);
AnalysisResult RunGpuMetrics(const AnalysisInput& input, const AnalysisOptions& options);
AnalysisResult RunCounters(const AnalysisInput& input, const AnalysisOptions& options);
AnalysisResult RunSource(const AnalysisInput& input, const AnalysisOptions& options);
AnalysisResult RunRequests(const AnalysisInput& input, const AnalysisOptions& options);
AnalysisResult RunDelays(const AnalysisInput& input, const AnalysisOptions& options);
AnalysisResult RunHealth(const AnalysisInput& input, const AnalysisOptions& options);

// The part of `idle` that a summary of a rank has. Its metrics and tables that are sums over all gaps: the same as in
// the result of `idle`, without single gaps, start-up and findings, and without what only these need.
AnalysisResult SumIdle(const AnalysisInput& input, uint32_t max_rows);

}  // namespace gprof
