#include "analysis/topics/serving/serving_tables.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <string_view>
#include <utility>

#include "analysis/result/tables.h"
#include "base/units.h"

namespace gprof {
namespace {

// In the order of the enumeration.
constexpr std::array<LatencyPart, kLatencyParts> AllParts() {
  std::array<LatencyPart, kLatencyParts> parts{};
  for (size_t i = 0; i < kLatencyParts; ++i) parts[i] = static_cast<LatencyPart>(i);
  return parts;
}
constexpr std::array kParts = AllParts();

std::string Capitalised(std::string_view text) {
  std::string capitalised(text);
  if (!capitalised.empty() && capitalised[0] >= 'a' && capitalised[0] <= 'z') capitalised[0] -= 'a' - 'A';
  return capitalised;
}

Column NsColumn(std::string key, std::string title, bool is_extra = false) {
  return {std::move(key), std::move(title), Unit::kNs, is_extra, ColumnRole::kOwn};
}

Column CountColumn(std::string key, std::string title, bool is_extra = false) {
  return {std::move(key), std::move(title), Unit::kCount, is_extra, ColumnRole::kOwn};
}

Cell MeanOf(int64_t sum, int64_t count) {
  if (count == 0) return std::monostate{};
  return static_cast<double>(sum) / static_cast<double>(count);
}

LatencySplit SumOf(const std::vector<Latency>& latencies) {
  LatencySplit sum;
  for (const Latency& latency : latencies) sum += latency.split;
  return sum;
}

Cell Percent(int64_t part, int64_t whole) {
  if (whole == 0) return std::monostate{};
  return 100 * static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

int64_t Percentile(const std::vector<int64_t>& sorted, double percent) {
  const auto rank = static_cast<size_t>(std::ceil(percent / 100 * static_cast<double>(sorted.size())));
  return sorted[std::min(std::max<size_t>(rank, 1), sorted.size()) - 1];
}

std::vector<int64_t> Durations(const std::vector<Latency>& latencies) {
  std::vector<int64_t> durations;
  for (const Latency& latency : latencies) durations.push_back(latency.time.DurationNs());
  std::ranges::sort(durations);
  return durations;
}

std::vector<int64_t> QueueTimes(const std::vector<Latency>& first_tokens) {
  std::vector<int64_t> times;
  for (const Latency& latency : first_tokens) times.push_back(latency.split[LatencyPart::kQueue]);
  std::ranges::sort(times);
  return times;
}

std::vector<int64_t> EndToEnd(const ServedRequests& served) {
  std::vector<int64_t> times;
  for (const ServedRequest& request : served.requests()) {
    const bool has_ended = request.ended_ns != INT64_MIN && !request.is_aborted && !request.tokens.empty();
    if (request.HasArrived() && has_ended) times.push_back(request.LastTokenNs() - request.arrived_ns);
  }
  std::ranges::sort(times);
  return times;
}

Table LatencyTable(const Serving& serving) {
  Table table{"request_latency",
              "Latency of requests",
              {{"what", "Time", Unit::kText},
               CountColumn("count", "Count"),
               NsColumn("mean_ns", "Mean"),
               NsColumn("p50_ns", "p50"),
               NsColumn("p90_ns", "p90"),
               NsColumn("p99_ns", "p99"),
               NsColumn("max_ns", "Max")},
              {},
              "Between tokens: from one hand-out of tokens of a request to the next."};
  const auto add = [&](const char* what, const std::vector<int64_t>& sorted) {
    if (sorted.empty()) return;
    int64_t sum_ns = 0;
    for (const int64_t ns : sorted) sum_ns += ns;
    const auto count = static_cast<int64_t>(sorted.size());
    table.rows.push_back({what, count, MeanOf(sum_ns, count), Percentile(sorted, 50), Percentile(sorted, 90),
                          Percentile(sorted, 99), sorted.back()});
  };
  add("to the first token", Durations(serving.latencies.first_tokens()));
  add("of that in the queue", QueueTimes(serving.latencies.first_tokens()));
  add("between tokens", Durations(serving.latencies.next_tokens()));
  add("to the last token", EndToEnd(serving.served));
  return table;
}

Table LatencyPartsTable(const Serving& serving) {
  Table table{
      "request_parts",
      "What requests waited for",
      {{"part", "Part", Unit::kText},
       NsColumn("first_token_ns", "To first token"),
       {"first_token_percent", "", Unit::kPercent, false, ColumnRole::kOwn},
       NsColumn("next_token_ns", "Between tokens"),
       {"next_token_percent", "", Unit::kPercent, false, ColumnRole::kOwn},
       NsColumn("late_token_ns", "Late tokens"),
       NsColumn("usual_token_ns", "Others", true)},
      {},
      "Means. The parts add up to each latency exactly. Kernels of a step are shared by all requests in its batch."};
  const std::vector<Latency>&first = serving.latencies.first_tokens(), &next = serving.latencies.next_tokens();
  const LatencySplit first_sum = SumOf(first), next_sum = SumOf(next);
  LatencySplit late_sum;
  for (const Latency& token : next) {
    if (token.time.DurationNs() > serving.late.late_from_ns) late_sum += token.split;
  }
  const auto firsts = static_cast<int64_t>(first.size()), nexts = static_cast<int64_t>(next.size());
  for (const LatencyPart part : kParts) {
    if (first_sum[part] == 0 && next_sum[part] == 0) continue;
    Cell usual;
    if (nexts > serving.late.late) usual = serving.late.usual[part];
    table.rows.push_back({Capitalised(InfoOf(part).name), MeanOf(first_sum[part], firsts),
                          Percent(first_sum[part], first_sum.Sum()), MeanOf(next_sum[part], nexts),
                          Percent(next_sum[part], next_sum.Sum()), MeanOf(late_sum[part], serving.late.late), usual});
  }
  return table;
}

Table LatencyRowsTable(std::string id, std::string title, std::string name_key, std::string name_title) {
  Table table{std::move(id),
              std::move(title),
              {{std::move(name_key), std::move(name_title), Unit::kText}, NsColumn("latency_ns", "Latency")},
              {},
              "The parts behind a latency add up to it."};
  for (const LatencyPart part : kParts)
    table.columns.push_back(
        NsColumn(std::string(InfoOf(part).key) + "_ns", std::string(InfoOf(part).title), part == LatencyPart::kCopies));
  return table;
}

std::vector<Cell> LatencyRow(std::string name, const Latency& latency) {
  std::vector<Cell> row = {std::move(name), latency.time.DurationNs()};
  for (const LatencyPart part : kParts) row.emplace_back(latency.split[part]);
  return row;
}

Table SlowestRequestsTable(const Serving& serving, uint32_t max_rows) {
  Table table =
      LatencyRowsTable("requests_slowest", "Requests that waited longest for their first token", "request", "Request");
  table.columns.push_back(CountColumn("prompt_tokens", "Prompt"));
  table.columns.push_back(CountColumn("cached_tokens", "Cached"));
  table.columns.push_back(CountColumn("tokens_out", "Tokens"));
  table.columns.push_back(NsColumn("longest_between_ns", "Longest gap"));
  std::vector<const Latency*> slowest;
  for (const Latency& latency : serving.latencies.first_tokens()) slowest.push_back(&latency);
  std::ranges::stable_sort(slowest, std::greater<>(), [](const Latency* l) { return l->time.DurationNs(); });
  std::vector<int64_t> longest(serving.served.requests().size());
  for (const Latency& token : serving.latencies.next_tokens())
    longest[token.request] = std::max(longest[token.request], token.time.DurationNs());
  const size_t shown = RowsShown(slowest.size(), max_rows);
  for (size_t i = 0; i < shown; ++i) {
    const ServedRequest& request = serving.served.requests()[slowest[i]->request];
    const int64_t longest_ns = longest[slowest[i]->request];
    std::vector<Cell> row = LatencyRow(request.name, *slowest[i]);
    Cell cached;
    if (!request.steps.empty() && request.steps.front().tokens > 0) cached = request.steps.front().cached;
    row.insert(row.end(),
               {request.prompt_tokens, cached, request.OutputTokens(), longest_ns > 0 ? Cell(longest_ns) : Cell()});
    table.rows.push_back(std::move(row));
  }
  CountLeftOut(&table, slowest.size());
  return table;
}

Table PromptsTable(const Serving& serving) {
  Table table{"prompt_tokens",
              "Prompts and the KV cache",
              {{"what", "Tokens of prompts", Unit::kText},
               CountColumn("tokens", "Tokens"),
               {"percent", "", Unit::kPercent, false, ColumnRole::kOwn},
               CountColumn("requests", "Requests"),
               CountColumn("steps", "Steps"),
               NsColumn("kernel_ns", "Kernels, at most"),
               NsColumn("share_ns", "Estimate")},
              {},
              "Percent of all tokens of prompts. Kernels: of all steps with such tokens, which other tokens share; the "
              "estimate is their share by tokens."};
  const PromptCache& prompts = serving.prompts;
  const auto add = [&](const char* what, const PromptTokens& t, bool has_steps) {
    table.rows.push_back({what, t.tokens, Percent(t.tokens, prompts.Prompts()), t.requests,
                          has_steps ? Cell(t.steps) : Cell(), has_steps ? Cell(t.kernel_ns) : Cell(),
                          has_steps ? Cell(t.share_ns) : Cell()});
  };
  add("found in the cache", prompts.cached, false);
  add("computed", prompts.computed, true);
  if (prompts.again.tokens > 0) add("computed again", prompts.again, true);
  return table;
}

Table BatchStepsTable(const Serving& serving) {
  Table table{"engine_steps",
              "Steps of the engine",
              {{"kind", "Batch", Unit::kText},
               CountColumn("steps", "Steps"),
               CountColumn("tokens_in", "Tokens in"),
               CountColumn("tokens_out", "Tokens out"),
               CountColumn("mean_requests", "Requests"),
               NsColumn("mean_ns", "Mean time"),
               NsColumn("mean_kernel_ns", "Kernels"),
               NsColumn("mean_copy_ns", "Copies", true),
               NsColumn("mean_host_ns", "Host"),
               CountColumn("mean_kernels", "Launched"),
               CountColumn("graph_steps", "By graph")},
              {},
              "Means of a step. Kernels: time with a kernel of the step running; host: without work of the step on the "
              "GPU. Launched: kernels; by graph: steps that launched a CUDA graph."};
  struct Sum {
    int64_t steps = 0, in = 0, out = 0, requests = 0, ns = 0, kernels = 0, graphs = 0;
    StepSplit split;
  };
  std::array<Sum, 3> sums;
  for (uint32_t i = 0; i < serving.served.steps().size(); ++i) {
    const BatchStep& step = serving.served.steps()[i];
    Sum& sum = sums[step.IsMixed() ? 2 : step.prefills > 0 ? 0 : 1];
    ++sum.steps;
    sum.in += step.prefill_tokens + step.decode_tokens;
    sum.out += step.tokens_out;
    sum.requests += step.prefills + step.decodes;
    sum.ns += step.time.DurationNs();
    sum.kernels += serving.time.Kernels(i);
    sum.graphs += serving.time.Graphs(i) > 0;
    sum.split += serving.time.Of(i);
  }
  constexpr const char* kKinds[] = {"prefill", "decode", "mixed"};
  for (size_t kind = 0; kind < sums.size(); ++kind) {
    const Sum& s = sums[kind];
    if (s.steps == 0) continue;
    // Ranges do not say what their steps found.
    const Cell out = serving.trace.engine_steps.empty() ? Cell() : Cell(s.out);
    table.rows.push_back({kKinds[kind], s.steps, s.in, out, MeanOf(s.requests, s.steps), MeanOf(s.ns, s.steps),
                          MeanOf(s.split.kernel_ns, s.steps), MeanOf(s.split.copy_ns, s.steps),
                          MeanOf(s.split.host_ns, s.steps), MeanOf(s.kernels, s.steps), s.graphs});
  }
  return table;
}

std::string ReasonText(const LateGroup& group) {
  switch (group.part) {
    case LatencyPart::kMixed:
      if (group.is_mostly_host)
        return "host code in prefill of others" + (group.where.empty() ? "" : " at " + group.where);
      return "prefill of others in the same step" +
             (group.least_prefill_tokens == INT64_MAX || group.least_prefill_tokens == 0
                  ? std::string()
                  : " (" + FormatCount(group.least_prefill_tokens) + " tokens or more)");
    case LatencyPart::kDecode:
      if (!group.has_other_work) return "slower kernels of the step";
      return group.where.empty() ? "other work on the GPU" : "work of " + group.where + " on the GPU";
    case LatencyPart::kHost:
      return group.where.empty() ? "host code" : "host code at " + group.where;
    case LatencyPart::kOutput:
      return group.where.empty() ? "output" : "output at " + group.where;
    case LatencyPart::kNotScheduled:
      return group.was_preempted ? "preemption" : "steps without it";
    case LatencyPart::kPrefill:
      return group.was_preempted ? "its prompt, computed again after preemption" : "its own prompt";
    case LatencyPart::kCopies:
      return "copies";
    case LatencyPart::kQueue:
      return "queue";
  }
  return "";
}

Table LateTokensTable(const Serving& serving, uint32_t max_rows) {
  Table table{"late_tokens",
              "Why tokens were late",
              {{"reason", "Reason", Unit::kText},
               CountColumn("tokens", "Tokens"),
               NsColumn("extra_ns", "Late by, in all"),
               {"extra_percent", "", Unit::kPercent, false, ColumnRole::kOwn},
               NsColumn("worst_ns", "Worst"),
               {"worst_token", "Which", Unit::kText, true}},
              {},
              ""};
  const LateTokens& late = serving.late;
  table.note = "Late: more than " + FormatNs(static_cast<double>(late.late_from_ns)) +
               " after the token before (median " + FormatNs(static_cast<double>(late.median_ns)) +
               "). The reason is what a token has most more of than others.";
  const size_t shown = RowsShown(late.groups.size(), max_rows);
  for (size_t i = 0; i < shown; ++i) {
    const LateGroup& group = late.groups[i];
    const std::string& request = serving.served.requests()[group.worst.request].name;
    table.rows.push_back({ReasonText(group), group.tokens, group.extra_ns, Percent(group.extra_ns, late.extra_ns),
                          group.worst.time.DurationNs(), request + ", token " + std::to_string(group.worst.token + 1)});
  }
  CountLeftOut(&table, late.groups.size());
  return table;
}

Table ServingOverTimeTable(const Serving& serving) {
  constexpr int64_t kRows = 10;
  Table table{"serving_over_time",
              "The engine over time",
              {NsColumn("from_ns", "From"),
               CountColumn("arrivals", "Arrivals"),
               {"tokens_per_second", "Tokens/s", Unit::kPerSecond, false, ColumnRole::kOwn},
               CountColumn("mean_running", "Running"),
               CountColumn("most_waiting", "Waiting"),
               {"cache_percent", "KV cache", Unit::kPercent, false, ColumnRole::kOwn}},
              {},
              "Running: requests in a step, mean; waiting: most in the queue; KV cache: most of its blocks in use."};
  const std::vector<BatchStep>& steps = serving.served.steps();
  if (steps.empty()) return table;
  int64_t start_ns = steps.front().time.start_ns, end_ns = start_ns + 1;
  for (const BatchStep& step : steps) end_ns = std::max(end_ns, step.time.end_ns);
  for (const ServedRequest& request : serving.served.requests()) {
    if (request.HasArrived()) start_ns = std::min(start_ns, request.arrived_ns);
    if (!request.tokens.empty()) end_ns = std::max(end_ns, request.LastTokenNs() + 1);
  }
  const int64_t width_ns = (end_ns - start_ns + kRows - 1) / kRows;
  struct Row {
    int64_t arrivals = 0, tokens = 0, steps = 0, running = 0, waiting = 0;
    double cache = -1;
  };
  std::array<Row, kRows> rows;
  bool are_tokens_known = true;
  const auto row_at = [&](int64_t ns) -> Row& {
    return rows[static_cast<size_t>(std::clamp<int64_t>((ns - start_ns) / width_ns, 0, kRows - 1))];
  };
  for (const BatchStep& step : steps) {
    Row& row = row_at(step.time.start_ns);
    ++row.steps;
    row.running += step.prefills + step.decodes;
    row.waiting = std::max(row.waiting, step.waiting);
    if (step.cache_blocks > 0)
      row.cache =
          std::max(row.cache, 100 * static_cast<double>(step.cache_used) / static_cast<double>(step.cache_blocks));
  }
  for (const ServedRequest& request : serving.served.requests()) {
    if (request.HasArrived()) ++row_at(request.arrived_ns).arrivals;
    for (const TokensOut& out : request.tokens) row_at(out.time_ns).tokens += out.tokens;
    are_tokens_known &= request.later_tokens == 0;
  }
  for (int64_t i = 0; i < kRows; ++i) {
    const Row& row = rows[static_cast<size_t>(i)];
    Cell cache, tokens;
    if (row.cache >= 0) cache = row.cache;
    if (are_tokens_known) tokens = 1e9 * static_cast<double>(row.tokens) / static_cast<double>(width_ns);
    table.rows.push_back({i * width_ns, row.arrivals, tokens, MeanOf(row.running, row.steps), row.waiting, cache});
  }
  return table;
}

}  // namespace gprof
