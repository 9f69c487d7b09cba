// What a serving engine measured of its requests itself, beside what the trace shows.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/facts/serving/span_requests.h"
#include "gprof/analysis.h"
#include "gprof/request_span.h"

namespace gprof {

// Of an engine that told the trace of its requests: the spans and the requests that are the same.
AnalysisResult CompareSpans(const AnalysisInput& input, const std::vector<RequestSpan>& spans, uint32_t max_rows);

// Of one that did not: which spans became requests.
Table SpansAsRequestsTable(const SpanRequests& counts);

}  // namespace gprof
