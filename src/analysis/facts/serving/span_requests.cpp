#include "analysis/facts/serving/span_requests.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "analysis/facts/recording/clock_quality.h"

namespace gprof {
namespace {

constexpr size_t kSuffixBytes = 9;  // "-1f0b57c2"

// "cmpl-42-0" of "cmpl-42-0-1f0b57c2"; empty for a name without such an end.
std::string_view WithoutSuffix(std::string_view name) {
  if (name.size() <= kSuffixBytes || name[name.size() - kSuffixBytes] != '-') return {};
  return name.substr(0, name.size() - kSuffixBytes);
}

// What is known by a name, where only one is.
class Places {
 public:
  void Add(std::string_view name, uint32_t place) {
    const auto [known, is_new] = places_.try_emplace(name, place);
    if (!is_new) known->second = kNone;
  }
  uint32_t Find(std::string_view name) const {
    const auto found = places_.find(name);
    return found == places_.end() ? kNone : found->second;
  }

 private:
  std::map<std::string_view, uint32_t> places_;
};

class Adding {
 public:
  Adding(const std::vector<RequestSpan>& spans, Trace* trace)
      : spans_(spans), trace_(*trace), served_(*trace), offset_ns_(DayOffsetNs(*trace)) {
    std::map<uint32_t, int64_t> counts;
    for (const BatchStep& step : served_.steps()) ++counts[step.process];
    process_ = std::ranges::max_element(counts, {}, [](const auto& count) { return count.second; })->first;
    for (const BatchStep& step : served_.steps()) {
      if (step.process == process_) steps_.push_back(&step);
    }
  }

  SpanRequests Run() {
    for (const RequestSpan& span : spans_) AddSpan(span);
    std::ranges::stable_sort(trace_.request_events, {}, &RequestEvent::time_ns);
    std::ranges::stable_sort(trace_.step_requests, {}, &StepRequest::time_ns);
    return counts_;
  }

 private:
  void AddSpan(const RequestSpan& span) {
    if (!span.queue_ns || !span.first_token_ns || !span.end_ns || *span.queue_ns > *span.first_token_ns ||
        *span.first_token_ns > *span.end_ns) {
      ++counts_.incomplete;
      return;
    }
    const int64_t arrived_ns = span.start_unix_ns - offset_ns_;
    if (arrived_ns > trace_.end_ns || arrived_ns + *span.end_ns < trace_.start_ns) {
      ++counts_.elsewhen;
      return;
    }
    if (trace_.step_requests.size() > kMostMembers) {
      ++counts_.too_many;
      return;
    }
    if (!AddSteps(span, arrived_ns)) {
      ++counts_.without_step;
      return;
    }
    trace_.strings.push_back(span.request);
    AddEvent(trace::RequestEventKind::kNamed, arrived_ns, 0);
    trace_.request_events.back().name = NameId{static_cast<uint32_t>(trace_.strings.size() - 1)};
    // What was before the recording is not known, so that neither is what it waited for.
    if (arrived_ns >= trace_.start_ns)
      AddEvent(trace::RequestEventKind::kArrived, arrived_ns, static_cast<uint32_t>(span.prompt_tokens));
    AddEvent(trace::RequestEventKind::kTokensOut, arrived_ns + *span.first_token_ns, 1);
    if (span.output_tokens > 0)
      AddEvent(trace::RequestEventKind::kFinished, arrived_ns + *span.end_ns,
               static_cast<uint32_t>(span.output_tokens - 1));
    ++number_;
    ++counts_.added;
  }

  void AddEvent(trace::RequestEventKind event, int64_t time_ns, uint32_t tokens) {
    trace_.request_events.push_back({time_ns, process_, kNone, number_, tokens, {}, event});
  }

  // False: there is none.
  bool AddSteps(const RequestSpan& span, int64_t arrived_ns) {
    const int64_t first_token_ns = arrived_ns + *span.first_token_ns, end_ns = arrived_ns + *span.end_ns;
    const auto start_of = [](const BatchStep* step) { return step->time.start_ns; };
    const size_t first = trace_.step_requests.size();
    size_t found_first = first;  // the step that found the first token
    for (auto at = std::ranges::lower_bound(steps_, arrived_ns + *span.queue_ns, {}, start_of);
         at != steps_.end() && start_of(*at) < end_ns; ++at) {
      const BatchStep& step = **at;
      const bool is_known = step.prefills + step.decodes > 0, is_prefill = start_of(*at) < first_token_ns;
      if (is_known && (is_prefill ? step.prefills : step.decodes) == 0) continue;
      if (is_prefill && step.time.end_ns <= first_token_ns) found_first = trace_.step_requests.size();
      trace_.step_requests.push_back(
          {step.time.start_ns, process_, static_cast<uint32_t>(step.number), number_, 0, 0, 0, is_prefill});
    }
    if (trace_.step_requests.size() == first) return false;
    if (trace_.step_requests[found_first].is_prefill) trace_.step_requests[found_first].tokens_out = 1;
    return true;
  }

  const std::vector<RequestSpan>& spans_;
  Trace& trace_;
  const ServedRequests served_;
  const int64_t offset_ns_;
  uint32_t process_ = kNone, number_ = 1;
  std::vector<const BatchStep*> steps_;  // of the process, by start
  SpanRequests counts_;
};

}  // namespace

std::vector<uint32_t> RequestsOfSpans(const std::vector<RequestSpan>& spans, const ServedRequests& served) {
  Places requests, clients, span_names;
  for (uint32_t i = 0; i < served.requests().size(); ++i) {
    const std::string_view name = served.requests()[i].name;
    requests.Add(name, i);
    if (const std::string_view client = WithoutSuffix(name); !client.empty()) clients.Add(client, i);
  }
  for (uint32_t i = 0; i < spans.size(); ++i) span_names.Add(spans[i].request, i);
  std::vector<uint32_t> places;
  for (const RequestSpan& span : spans) {
    const bool is_only_one = span_names.Find(span.request) != kNone;
    const uint32_t exact = requests.Find(span.request);
    places.push_back(!is_only_one ? kNone : exact != kNone ? exact : clients.Find(span.request));
  }
  return places;
}

bool CanAddRequests(const Trace& trace) {
  return trace.request_events.empty() && trace.step_requests.empty() && BestClock(trace).has_value() &&
         !ServedRequests(trace).steps().empty();
}

SpanRequests AddRequestsOfSpans(const std::vector<RequestSpan>& spans, Trace* trace) {
  return Adding(spans, trace).Run();
}

int64_t DayOffsetNs(const Trace& trace) {
  const trace::ClockRecord clock = *BestClock(trace);
  return static_cast<int64_t>(clock.realtime_ns) - static_cast<int64_t>(clock.monotonic_ns);
}

}  // namespace gprof
