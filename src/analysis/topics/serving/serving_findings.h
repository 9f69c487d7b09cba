// What to tell of requests and what to do about it.
#pragma once

#include "analysis/topics/serving/serving_tables.h"
#include "gprof/analysis.h"

namespace gprof {

void AddServingFindings(const Serving& serving, AnalysisResult* result);

}  // namespace gprof
