#include "analysis/topics/serving/span_tables.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "analysis/facts/recording/clock_quality.h"
#include "analysis/result/tables.h"
#include "analysis/topics/serving/serving_tables.h"

namespace gprof {
namespace {

using Time = std::optional<int64_t>;

// A time of a request, as the trace has it and as its span has it.
struct Pair {
  Time ours, span;
  Time Difference() const { return ours && span ? Time(*span - *ours) : std::nullopt; }
};

Cell CellOf(const Time& time) { return time ? Cell(*time) : Cell(); }

Column Ns(std::string key, std::string title, bool is_extra = false) {
  return {std::move(key), std::move(title), Unit::kNs, is_extra, ColumnRole::kOwn};
}

struct Compared {
  uint32_t request = kNone;
  Pair arrival, first_token, queue, last_token;
};

std::vector<Compared> Compare(const Serving& serving, const std::vector<RequestSpan>& spans,
                              const std::vector<uint32_t>& requests) {
  std::vector<const Latency*> firsts(serving.served.requests().size());
  for (const Latency& latency : serving.latencies.first_tokens()) firsts[latency.request] = &latency;
  const bool is_day_known = BestClock(serving.trace).has_value();
  std::vector<Compared> all;
  for (size_t i = 0; i < spans.size(); ++i) {
    if (requests[i] == kNone) continue;
    const ServedRequest& request = serving.served.requests()[requests[i]];
    Compared one{requests[i], {}, {{}, spans[i].first_token_ns}, {{}, spans[i].queue_ns}, {{}, spans[i].end_ns}};
    if (const Latency* const first = firsts[requests[i]]; first != nullptr) {
      one.first_token.ours = first->time.DurationNs();
      one.queue.ours = first->split[LatencyPart::kQueue];
    }
    if (request.HasArrived()) {
      one.arrival.ours = request.arrived_ns;
      if (is_day_known) one.arrival.span = spans[i].start_unix_ns - DayOffsetNs(serving.trace);
      if (request.ended_ns != INT64_MIN && !request.tokens.empty())
        one.last_token.ours = request.LastTokenNs() - request.arrived_ns;
    }
    all.push_back(one);
  }
  return all;
}

Table TimesTable(const std::vector<Compared>& all) {
  Table table{"span_times",
              "Times by the trace and by spans of the engine",
              {{"what", "Time", Unit::kText},
               {"count", "Count", Unit::kCount, false, ColumnRole::kOwn},
               Ns("mean_ns", "Trace, mean"),
               Ns("span_mean_ns", "Spans, mean"),
               Ns("mean_difference_ns", "Difference"),
               Ns("largest_difference_ns", "Largest")},
              {},
              "Differences are those of spans less those of the trace."};
  const auto add = [&](const char* what, Pair Compared::*time, bool is_length) {
    int64_t count = 0, largest_ns = 0;
    double ours_ns = 0, span_ns = 0, difference_ns = 0;
    for (const Compared& one : all) {
      const Time difference = (one.*time).Difference();
      if (!difference) continue;
      ++count;
      ours_ns += static_cast<double>(*(one.*time).ours);
      span_ns += static_cast<double>(*(one.*time).span);
      difference_ns += static_cast<double>(*difference);
      if (std::abs(*difference) > std::abs(largest_ns)) largest_ns = *difference;
    }
    if (count == 0) return;
    const auto n = static_cast<double>(count);
    table.rows.push_back({what, count, is_length ? Cell(ours_ns / n) : Cell(), is_length ? Cell(span_ns / n) : Cell(),
                          difference_ns / n, largest_ns});
  };
  add("arrival", &Compared::arrival, false);
  add("to the first token", &Compared::first_token, true);
  add("of that in the queue", &Compared::queue, true);
  add("to the last token", &Compared::last_token, true);
  return table;
}

Table RequestsTable(const Serving& serving, std::vector<Compared> all, uint32_t max_rows) {
  Table table{"span_requests",
              "Requests by the trace and by spans of the engine",
              {{"request", "Request", Unit::kText},
               Ns("first_token_ns", "To first token"),
               Ns("span_first_token_ns", "By span"),
               Ns("first_token_difference_ns", "Difference"),
               Ns("queue_ns", "Queue", true),
               Ns("span_queue_ns", "Queue by span", true),
               Ns("queue_difference_ns", "Of queue"),
               Ns("last_token_ns", "To last token", true),
               Ns("span_last_token_ns", "Last token by span", true),
               Ns("last_token_difference_ns", "Of last token"),
               Ns("arrival_difference_ns", "Of arrival", true)},
              {},
              "Those with the largest difference first. Differences are those of spans less those of the trace."};
  std::ranges::stable_sort(all, std::greater<>(),
                           [](const Compared& one) { return std::abs(one.first_token.Difference().value_or(0)); });
  const size_t shown = RowsShown(all.size(), max_rows);
  for (size_t i = 0; i < shown; ++i) {
    const Compared& one = all[i];
    std::vector<Cell> row = {serving.served.requests()[one.request].name};
    for (const Pair* time : {&one.first_token, &one.queue, &one.last_token})
      row.insert(row.end(), {CellOf(time->ours), CellOf(time->span), CellOf(time->Difference())});
    row.push_back(CellOf(one.arrival.Difference()));
    table.rows.push_back(std::move(row));
  }
  CountLeftOut(&table, all.size());
  return table;
}

// How many, and the first of their names.
std::vector<Cell> Named(const char* what, const std::vector<std::string>& names) {
  constexpr size_t kNames = 3;
  std::string list;
  for (size_t i = 0; i < std::min(names.size(), kNames); ++i) list += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > kNames) list += ", ...";
  return {what, static_cast<int64_t>(names.size()), std::move(list)};
}

Table MatchesTable(const Serving& serving, const std::vector<RequestSpan>& spans,
                   const std::vector<uint32_t>& requests) {
  Table table{"spans",
              "Spans of the engine",
              {{"what", "What", Unit::kText},
               {"count", "Count", Unit::kCount, false, ColumnRole::kOwn},
               {"names", "The first of them", Unit::kText}},
              {},
              "A span is a request's if both have one name that no other has."};
  std::vector<bool> has_span(serving.served.requests().size());
  std::vector<std::string> joined, spans_alone, requests_alone;
  for (size_t i = 0; i < spans.size(); ++i) {
    (requests[i] == kNone ? spans_alone : joined).push_back(spans[i].request);
    if (requests[i] != kNone) has_span[requests[i]] = true;
  }
  for (size_t i = 0; i < has_span.size(); ++i) {
    if (!has_span[i]) requests_alone.push_back(serving.served.requests()[i].name);
  }
  table.rows = {Named("of a request of the trace", joined), Named("without a request", spans_alone),
                Named("requests without a span", requests_alone)};
  return table;
}

}  // namespace

AnalysisResult CompareSpans(const AnalysisInput& input, const std::vector<RequestSpan>& spans, uint32_t max_rows) {
  AnalysisResult result;
  const Serving serving(input);
  const std::vector<uint32_t> requests = RequestsOfSpans(spans, serving.served);
  std::vector<Compared> all = Compare(serving, spans, requests);
  if (!all.empty()) {
    result.tables.push_back(TimesTable(all));
    result.tables.push_back(RequestsTable(serving, std::move(all), max_rows));
  }
  result.tables.push_back(MatchesTable(serving, spans, requests));
  return result;
}

Table SpansAsRequestsTable(const SpanRequests& counts) {
  Table table{"spans",
              "Spans of the engine",
              {{"what", "What", Unit::kText}, {"count", "Count", Unit::kCount, false, ColumnRole::kOwn}},
              {},
              "The engine told the trace of no requests: those above are its spans. A request counts as in every step "
              "that began between the queue and its end, with those that compute prompts before its first token only."};
  const auto add = [&](const char* what, uint64_t count) {
    if (count > 0) table.rows.push_back({what, static_cast<int64_t>(count)});
  };
  add("requests", counts.added);
  add("before or after the recording", counts.elsewhen);
  add("without the time in the queue or to the first token", counts.incomplete);
  add("with no step of the trace in them", counts.without_step);
  add("left out, as those before are in too many steps", counts.too_many);
  return table;
}

}  // namespace gprof
