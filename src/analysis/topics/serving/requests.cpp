// Requests of a serving engine: their latencies as sums, and why tokens were late.
#include <vector>

#include "analysis/result/metrics.h"
#include "analysis/topics/analyses.h"
#include "analysis/topics/serving/serving_findings.h"
#include "analysis/topics/serving/serving_tables.h"

namespace gprof {
namespace {

void AddPercentiles(AnalysisResult* result, const std::vector<int64_t>& sorted, const char* p50, const char* p99) {
  if (sorted.empty()) return;
  AddMetric(result, p50, Percentile(sorted, 50));
  AddMetric(result, p99, Percentile(sorted, 99));
}

void AddMetrics(const Serving& serving, AnalysisResult* result) {
  const ServedRequests& served = serving.served;
  AddMetric(result, "requests.steps", served.steps().size());
  if (served.requests().empty()) return;
  int64_t preemptions = 0;
  for (const ServedRequest& request : served.requests()) preemptions += request.preemptions;
  AddMetric(result, "requests.count", served.requests().size());
  AddMetric(result, "requests.output_tokens", served.OutputTokens());
  AddMetric(result, "requests.preemptions", preemptions);
  AddMetric(result, "requests.late_tokens", serving.late.late);
  if (const int64_t span_ns = served.Span().DurationNs(); span_ns > 0) {
    AddMetric(result, "requests.tokens_per_second",
              1e9 * static_cast<double>(served.OutputTokens()) / static_cast<double>(span_ns));
  }
  if (const PromptCache& prompts = serving.prompts; prompts.Prompts() > 0)
    AddMetric(result, "requests.prefix_hit_percent",
              100 * static_cast<double>(prompts.cached.tokens) / static_cast<double>(prompts.Prompts()));
  AddPercentiles(result, Durations(serving.latencies.first_tokens()), "requests.first_token_p50_ns",
                 "requests.first_token_p99_ns");
  AddPercentiles(result, Durations(serving.latencies.next_tokens()), "requests.next_token_p50_ns",
                 "requests.next_token_p99_ns");
  AddPercentiles(result, QueueTimes(serving.latencies.first_tokens()), "requests.queue_p50_ns",
                 "requests.queue_p99_ns");
}

}  // namespace

AnalysisResult RunRequests(const AnalysisInput& input, const AnalysisOptions& options) {
  AnalysisResult result;
  if (!ServedRequests::MayBeIn(input.trace())) return result;
  const Serving serving(input);
  if (serving.served.empty()) return result;
  AddMetrics(serving, &result);
  if (!serving.served.requests().empty()) {
    result.tables.push_back(LatencyTable(serving));
    result.tables.push_back(LatencyPartsTable(serving));
  }
  if (serving.late.late > 0) result.tables.push_back(LateTokensTable(serving, options.max_rows));
  if (!serving.latencies.first_tokens().empty())
    result.tables.push_back(SlowestRequestsTable(serving, options.max_rows));
  if (serving.prompts.Prompts() + serving.prompts.again.tokens > 0) result.tables.push_back(PromptsTable(serving));
  if (!serving.served.steps().empty()) {
    result.tables.push_back(BatchStepsTable(serving));
    if (!serving.served.requests().empty()) result.tables.push_back(ServingOverTimeTable(serving));
  }
  AddServingFindings(serving, &result);
  return result;
}

}  // namespace gprof
