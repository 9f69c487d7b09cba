#include "analysis/facts/serving/served_requests.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

namespace gprof {
namespace {

using Numbered = std::pair<uint32_t, int64_t>;  // a process, and the number that it gave something

constexpr std::string_view kStepName = "execute_context_";

// "(512)" or "7": digits up to what follows them; false where there are none.
bool TakeNumber(std::string_view* text, std::string_view before, int64_t* number) {
  if (!text->starts_with(before)) return false;
  text->remove_prefix(before.size());
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), *number);
  if (error != std::errc()) return false;
  text->remove_prefix(static_cast<size_t>(end - text->data()));
  return true;
}

std::optional<BatchStep> StepOfName(std::string_view name) {
  BatchStep step;
  const bool is_step = TakeNumber(&name, kStepName, &step.prefills) && TakeNumber(&name, "(", &step.prefill_tokens) &&
                       TakeNumber(&name, ")_generation_", &step.decodes) && TakeNumber(&name, "(", &step.decode_tokens);
  return is_step && name.starts_with(')') ? std::optional(step) : std::nullopt;
}

class RequestReader {
 public:
  RequestReader(const Trace& trace, std::vector<BatchStep>* steps, std::vector<ServedRequest>* requests)
      : trace_(trace), steps_(*steps), requests_(*requests) {}

  void Run() {
    NameRequests();
    ReadSteps();
    if (steps_.empty()) ReadStepsOfRanges();
    for (const RequestEvent& event : trace_.request_events) ReadEvent(event);
    std::erase_if(requests_,
                  [](const ServedRequest& r) { return !r.HasArrived() && r.steps.empty() && r.tokens.empty(); });
    for (ServedRequest& request : requests_) FinishTokens(&request);
    Order();
  }

 private:
  // A request is known by its name where it has one: several processes may tell of it, with numbers of their own.
  void NameRequests() {
    for (const RequestEvent& event : trace_.request_events) {
      if (event.event == trace::RequestEventKind::kNamed) names_[{event.process, event.request}] = event.name;
    }
  }

  uint32_t RequestOf(uint32_t process, int64_t number) {
    const auto [known, is_new] = of_number_.try_emplace({process, number}, kNone);
    if (!is_new) return known->second;
    const auto name = names_.find({process, number});
    const std::string text =
        name == names_.end() ? "request " + std::to_string(number) : std::string(trace_.Text(name->second));
    const bool is_shared = name != names_.end();
    const auto [place, is_first] = of_name_.try_emplace({is_shared ? kNone : process, text}, requests_.size());
    if (is_first) {
      requests_.emplace_back();
      requests_.back().name = text;
      requests_.back().process = process;
    }
    return known->second = static_cast<uint32_t>(place->second);
  }

  // Of processes that share requests the one with the most steps; of engines that share none, all.
  std::set<uint32_t> EngineProcesses() {
    std::map<uint32_t, int64_t> steps;
    for (const EngineStep& step : trace_.engine_steps) ++steps[step.process];
    std::map<uint32_t, std::set<uint32_t>> requests;
    for (const StepRequest& member : trace_.step_requests)
      requests[member.process].insert(RequestOf(member.process, member.request));
    std::vector<std::pair<int64_t, uint32_t>> most;
    for (const auto& [process, count] : steps) most.emplace_back(-count, process);
    std::ranges::sort(most);
    std::set<uint32_t> chosen, taken;
    for (const auto& [count, process] : most) {
      const std::set<uint32_t>& own = requests[process];
      if (std::ranges::any_of(own, [&](uint32_t request) { return taken.contains(request); })) continue;
      taken.insert(own.begin(), own.end());
      chosen.insert(process);
    }
    return chosen;
  }

  void ReadSteps() {
    const std::set<uint32_t> engines = EngineProcesses();
    std::map<Numbered, uint32_t> step_of;
    for (const EngineStep& step : trace_.engine_steps) {
      if (!engines.contains(step.process)) continue;
      step_of[{step.process, step.step}] = static_cast<uint32_t>(steps_.size());
      steps_.push_back({{step.start_ns, std::max(step.start_ns, step.end_ns)},
                        step.process,
                        step.thread,
                        step.step,
                        step.waiting,
                        step.cache_used,
                        step.cache_blocks});
    }
    for (const StepRequest& member : trace_.step_requests) {
      const auto step = step_of.find({member.process, member.step});
      if (step != step_of.end()) AddMember(step->second, member);
    }
    for (ServedRequest& request : requests_) {
      std::ranges::sort(request.steps, {}, &Membership::step);
    }
  }

  void AddMember(uint32_t step_index, const StepRequest& member) {
    BatchStep& step = steps_[step_index];
    const uint32_t request = RequestOf(member.process, member.request);
    requests_[request].steps.push_back(
        {step_index, member.tokens, member.cached, member.tokens_out, member.is_prefill});
    step.tokens_out += member.tokens_out;
    (member.is_prefill ? step.prefill_tokens : step.decode_tokens) += member.tokens;
    ++(member.is_prefill ? step.prefills : step.decodes);
    if (member.is_prefill && member.tokens > step.longest_prefill_tokens) {
      step.longest_prefill = request;
      step.longest_prefill_tokens = member.tokens;
    }
  }

  void ReadStepsOfRanges() {
    std::map<NameId, BatchStep> of_name;
    for (uint32_t i = 0; i < trace_.strings.size(); ++i) {
      if (std::optional<BatchStep> step = StepOfName(trace_.strings[i])) of_name[NameId{i}] = *step;
    }
    if (of_name.empty()) return;
    for (size_t i = 0; i < trace_.ranges.size(); ++i) {
      const NvtxRange range = trace_.ranges[i];
      const auto found = of_name.find(range.name);
      if (found == of_name.end() || range.thread == kNone) continue;
      BatchStep step = found->second;
      step.time = {range.start_ns, std::max(range.start_ns, range.end_ns)};
      step.thread = range.thread;
      step.process = trace_.threads[range.thread].process;
      steps_.push_back(step);
    }
    std::ranges::stable_sort(steps_, {}, [](const BatchStep& step) { return step.time.start_ns; });
    for (size_t i = 0; i < steps_.size(); ++i) steps_[i].number = static_cast<int64_t>(i) + 1;
    // Requests made of spans know them by that number.
    for (const StepRequest& member : trace_.step_requests) {
      if (member.step - 1 >= steps_.size()) continue;
      requests_[RequestOf(member.process, member.request)].steps.push_back(
          {member.step - 1, member.tokens, member.cached, member.tokens_out, member.is_prefill});
    }
  }

  void ReadEvent(const RequestEvent& event) {
    ServedRequest& request = requests_[RequestOf(event.process, event.request)];
    switch (event.event) {
      case trace::RequestEventKind::kNamed:
        break;
      case trace::RequestEventKind::kArrived:
        if (!request.HasArrived()) request.arrived_ns = event.time_ns;
        request.prompt_tokens = event.tokens;
        break;
      case trace::RequestEventKind::kTokensOut:
        request.tokens.push_back({event.time_ns, event.tokens, kNone, event.thread});
        break;
      case trace::RequestEventKind::kPreempted:
        ++request.preemptions;
        break;
      case trace::RequestEventKind::kFinished:
      case trace::RequestEventKind::kAborted:
        request.ended_ns = event.time_ns;
        request.later_tokens = event.tokens;
        request.is_aborted = event.event == trace::RequestEventKind::kAborted;
        break;
    }
  }

  // Tokens are handed out in the order in which steps found them.
  void FinishTokens(ServedRequest* request) const {
    if (request->tokens.empty()) {
      for (const Membership& member : request->steps) {
        if (member.tokens_out == 0) continue;
        const BatchStep& step = steps_[member.step];
        request->tokens.push_back({step.time.end_ns, member.tokens_out, member.step, step.thread});
      }
      return;
    }
    auto member = request->steps.begin();
    for (TokensOut& out : request->tokens) {
      int64_t left = out.tokens;
      for (; left > 0 && member != request->steps.end() && steps_[member->step].time.end_ns <= out.time_ns; ++member) {
        if (member->tokens_out > 0) out.step = member->step;
        left -= member->tokens_out;
      }
    }
  }

  // Steps refer to requests by their places.
  void Order() {
    std::vector<uint32_t> order(requests_.size());
    for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    const auto key = [&](uint32_t i) {
      const ServedRequest& r = requests_[i];
      return std::tuple(r.HasArrived(), r.arrived_ns, r.steps.empty() ? kNone : r.steps.front().step, i);
    };
    std::ranges::sort(order, {}, key);
    std::vector<ServedRequest> ordered;
    std::vector<uint32_t> place(order.size());
    for (const uint32_t i : order) {
      place[i] = static_cast<uint32_t>(ordered.size());
      ordered.push_back(std::move(requests_[i]));
    }
    requests_ = std::move(ordered);
    for (BatchStep& step : steps_) {
      if (step.longest_prefill != kNone) step.longest_prefill = place[step.longest_prefill];
    }
  }

  const Trace& trace_;
  std::vector<BatchStep>& steps_;
  std::vector<ServedRequest>& requests_;
  std::map<Numbered, NameId> names_;
  std::map<Numbered, uint32_t> of_number_;
  std::map<std::pair<uint32_t, std::string>, size_t> of_name_;
};

}  // namespace

ServedRequests::ServedRequests(const Trace& trace) { RequestReader(trace, &steps_, &requests_).Run(); }

bool ServedRequests::MayBeIn(const Trace& trace) {
  return !trace.engine_steps.empty() || !trace.request_events.empty() ||
         std::ranges::any_of(trace.strings, [](std::string_view name) { return name.starts_with(kStepName); });
}

int64_t ServedRequest::OutputTokens() const {
  int64_t sum = later_tokens;
  for (const TokensOut& out : tokens) sum += out.tokens;
  return sum;
}

int64_t ServedRequests::OutputTokens() const {
  int64_t tokens = 0;
  for (const ServedRequest& request : requests_) {
    tokens += request.OutputTokens();
  }
  return tokens;
}

Interval ServedRequests::Span() const {
  if (steps_.empty()) return {};
  Interval span = steps_.front().time;
  for (const ServedRequest& request : requests_) {
    if (!request.tokens.empty()) span.end_ns = std::max(span.end_ns, request.LastTokenNs());
  }
  return span;
}

const Membership* ServedRequests::Find(const ServedRequest& request, uint32_t step) {
  const auto member = std::ranges::lower_bound(request.steps, step, {}, &Membership::step);
  return member != request.steps.end() && member->step == step ? &*member : nullptr;
}

}  // namespace gprof
