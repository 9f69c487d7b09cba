// The tables about requests of a serving engine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/facts/serving/engine_time.h"
#include "analysis/facts/serving/latency.h"
#include "analysis/facts/serving/prompt_cache.h"
#include "analysis/facts/serving/served_requests.h"
#include "analysis/topics/serving/late_tokens.h"
#include "gprof/analysis.h"

namespace gprof {

// Everything about requests that tables and findings are made of.
struct Serving {
  explicit Serving(const AnalysisInput& all)
      : input(all),
        trace(input.trace()),
        served(trace),
        time(input, served),
        latencies(served, time),
        prompts(served, time),
        late(input, served, time, latencies) {}

  const AnalysisInput input;
  const Trace& trace;
  const ServedRequests served;
  const EngineTime time;
  const Latencies latencies;
  const PromptCache prompts;
  const LateTokens late;
};

// Of samples in order: the least that so many percent of them do not exceed.
int64_t Percentile(const std::vector<int64_t>& sorted, double percent);
// In order.
std::vector<int64_t> Durations(const std::vector<Latency>& latencies);
std::vector<int64_t> QueueTimes(const std::vector<Latency>& first_tokens);
std::vector<int64_t> EndToEnd(const ServedRequests& served);

// A table of latencies with their parts, and a row of it.
Table LatencyRowsTable(std::string id, std::string title, std::string name_key, std::string name_title);
std::vector<Cell> LatencyRow(std::string name, const Latency& latency);

Table LatencyTable(const Serving& serving);
Table LatencyPartsTable(const Serving& serving);
Table SlowestRequestsTable(const Serving& serving, uint32_t max_rows);
Table PromptsTable(const Serving& serving);
Table BatchStepsTable(const Serving& serving);
Table LateTokensTable(const Serving& serving, uint32_t max_rows);
Table ServingOverTimeTable(const Serving& serving);

// "others' prefill (at least 2,048 tokens)", "host code at serve.py:12 (tokenise)".
std::string ReasonText(const LateGroup& group);

}  // namespace gprof
