// Metrics that a trace of another tool cannot tell, which is not the same as zero.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gprof/analysis.h"
#include "gprof/trace.h"

namespace gprof {

// All metrics whose id begins with `prefix`.
struct UnknownMetrics {
  std::string_view prefix;
  std::string why;  // "Nsight Systems 2024.6.2 did not record CUDA calls"
};

std::vector<UnknownMetrics> UnknownMetricsOf(const Trace& trace);

// Empty: the metric is known.
std::string WhyUnknown(const Trace& trace, std::string_view metric_id);

// Takes the metrics out that are not known.
void DropUnknownMetrics(const Trace& trace, std::span<AnalysisResult> results);

// "CUDA calls", "NVTX", …: all that the trace lacks.
std::vector<std::string_view> LackingFacts(const Trace& trace);

}  // namespace gprof
