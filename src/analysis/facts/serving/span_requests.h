// Requests by the spans of their engine: which span is which request of the trace, and requests made of spans where the
// engine told the trace of none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analysis/facts/serving/served_requests.h"
#include "gprof/request_span.h"
#include "gprof/trace.h"

namespace gprof {

// By span its place in requests(), kNone where there is none, or where it is not clear which.
//
// vLLM exports the name that a client knows: its engine puts "-" and eight characters behind it.
std::vector<uint32_t> RequestsOfSpans(const std::vector<RequestSpan>& spans, const ServedRequests& served);

// Of all requests in all steps: spans whose times are wrong may be in all of them.
inline constexpr size_t kMostMembers = 20'000'000;

// What became of spans that were to be requests.
struct SpanRequests {
  uint64_t added = 0;
  uint64_t elsewhen = 0;      // before or after what was recorded
  uint64_t incomplete = 0;    // they do not tell of the queue and of the first token
  uint64_t without_step = 0;  // no step of the trace is within them
  uint64_t too_many = 0;      // behind kMostMembers
};

// Whether the spans can become requests: the engine told of none, and its steps and the time of day are known.
bool CanAddRequests(const Trace& trace);

// Adds what an engine would have told. A request counts as in every step that began between the queue and its end:
// until its first token those that compute prompts, then those that decode, where that is known of steps. Of several
// processes with steps, those of the one with the most of them count.
SpanRequests AddRequestsOfSpans(const std::vector<RequestSpan>& spans, Trace* trace);

// Time of day less the clock of the trace. Only where the trace knows it.
int64_t DayOffsetNs(const Trace& trace);

}  // namespace gprof
