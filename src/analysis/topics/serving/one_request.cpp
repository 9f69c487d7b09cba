#include "analysis/topics/serving/one_request.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "analysis/result/tables.h"
#include "analysis/topics/serving/serving_tables.h"
#include "base/units.h"

namespace gprof {
namespace {

Table StepsOfRequest(const Serving& serving, const ServedRequest& request, uint32_t max_rows) {
  Table table{"request_steps",
              "Steps that it was in",
              {{"step", "Step", Unit::kCount, false, ColumnRole::kOwn},
               {"after_ns", "After arrival", Unit::kNs, false, ColumnRole::kOwn},
               {"time_ns", "Time", Unit::kNs, false, ColumnRole::kOwn},
               {"role", "Its part", Unit::kText},
               {"tokens", "Its tokens", Unit::kCount, false, ColumnRole::kOwn},
               {"cached", "Cached", Unit::kCount, false, ColumnRole::kOwn},
               {"requests", "Requests", Unit::kCount, false, ColumnRole::kOwn},
               {"others_prefill_tokens", "Others' prompts", Unit::kCount, false, ColumnRole::kOwn},
               {"share_percent", "Share (estimate)", Unit::kPercent, false, ColumnRole::kOwn}},
              {},
              "Others' prompts: their tokens in the step. Share: its tokens in percent of all tokens of the step, an "
              "estimate of what it had of kernels that all share."};
  const size_t shown = RowsShown(request.steps.size(), max_rows);
  for (size_t i = 0; i < shown; ++i) {
    const Membership& member = request.steps[i];
    const BatchStep& step = serving.served.steps()[member.step];
    const int64_t all_tokens = step.prefill_tokens + step.decode_tokens;
    Cell after, share, tokens, cached, others;
    if (request.HasArrived()) after = step.time.start_ns - request.arrived_ns;
    if (member.tokens > 0) {
      tokens = member.tokens, cached = member.cached;
      others = step.prefill_tokens - (member.is_prefill ? member.tokens : 0);
      if (all_tokens > 0) share = 100 * static_cast<double>(member.tokens) / static_cast<double>(all_tokens);
    }
    table.rows.push_back({step.number, after, step.time.DurationNs(), member.is_prefill ? "prefill" : "decode", tokens,
                          cached, step.prefills + step.decodes, others, share});
  }
  CountLeftOut(&table, request.steps.size());
  return table;
}

Table TokensOfRequest(const Serving& serving, uint32_t request, uint32_t max_rows) {
  Table table = LatencyRowsTable("request_tokens", "What its tokens waited for", "token", "Token");
  table.columns.push_back({"late_because", "Late because of", Unit::kText});
  size_t tokens = 0;
  const auto add = [&](const Latency& latency, std::string why) {
    if (latency.request != request || (++tokens > max_rows && max_rows > 0)) return;
    table.rows.push_back(LatencyRow(std::to_string(latency.token + 1), latency));
    table.rows.back().emplace_back(std::move(why));
  };
  for (const Latency& latency : serving.latencies.first_tokens()) add(latency, "");
  for (size_t i = 0; i < serving.latencies.next_tokens().size(); ++i) {
    const uint32_t group = serving.late.group_of[i];
    add(serving.latencies.next_tokens()[i], group == kNone ? "" : ReasonText(serving.late.groups[group]));
  }
  CountLeftOut(&table, tokens);
  return table;
}

}  // namespace

AnalysisResult ExplainRequest(const AnalysisInput& input, const std::string& name, uint32_t max_rows) {
  AnalysisResult result;
  const Serving serving(input);
  const std::vector<ServedRequest>& requests = serving.served.requests();
  const auto found = std::ranges::find(requests, name, &ServedRequest::name);
  if (found == requests.end()) return result;
  result.tables.push_back(TokensOfRequest(serving, static_cast<uint32_t>(found - requests.begin()), max_rows));
  result.tables.push_back(StepsOfRequest(serving, *found, max_rows));
  return result;
}

}  // namespace gprof
