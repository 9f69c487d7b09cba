// Puts values of the metric catalogue (metrics.cpp) into results.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "gprof/analysis.h"

namespace gprof {

// `id` must be in the catalogue.
void AddMetricValue(AnalysisResult* result, std::string_view id, double value, std::string scope);

template <class Number>
void AddMetric(AnalysisResult* result, std::string_view id, Number value, std::string scope = {}) {
  AddMetricValue(result, id, static_cast<double>(value), std::move(scope));
}

// The words for a part of a trace: "nvtx:step/load" is an NVTX range.
struct PartsInfo {
  Parts parts;
  std::string_view prefix, noun;
};
const PartsInfo* PartsOf(std::string_view scope);  // nullptr for GPUs, and for no part that there is

std::string_view UnitName(Unit unit);
std::string_view BetterName(Better better);

// docs/metrics.md.
std::string MetricsMarkdown();

}  // namespace gprof
