#include "analysis/topics/serving/late_tokens.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "analysis/facts/serving/thread_places.h"
#include "analysis/result/display_names.h"
#include "analysis/result/statistics.h"

namespace gprof {
namespace {

// As with iterations of a step: so many median deviations above the median.
constexpr double kDeviations = 5;
// Where all take the same time, a token is not late for a little more of it.
constexpr double kLeastShare = 0.25;

int64_t LateFrom(const std::vector<Latency>& tokens, int64_t* median_ns) {
  std::vector<int64_t> samples;
  for (const Latency& token : tokens) samples.push_back(token.time.DurationNs());
  if (samples.empty()) return INT64_MAX;
  const double median = Median(samples);
  *median_ns = static_cast<int64_t>(median);
  for (int64_t& sample : samples) sample = std::abs(sample - *median_ns);
  const double late = std::max(kDeviations * Median(samples), kLeastShare * median);
  return *median_ns + static_cast<int64_t>(late);
}

int64_t KernelNs(const LatencySplit& split) { return split[LatencyPart::kDecode] + split[LatencyPart::kMixed]; }

class Reasons {
 public:
  // `usual_share`: of the time of tokens that are not late, that in which work of others was on the GPU.
  Reasons(const AnalysisInput& input, const ServedRequests& served, const EngineTime& time, int64_t median_ns,
          double usual_share)
      : trace_(input.trace()),
        served_(served),
        time_(time),
        places_(input),
        median_ns_(median_ns),
        usual_share_(usual_share) {}

  // What the group of a late token is told apart by; `usual` is what others take.
  LateGroup Of(const Latency& token, const LatencySplit& usual) {
    const ServedRequest& request = served_.requests()[token.request];
    LateGroup group;
    group.part = MostExtra(request, token, usual);
    group.worst = token;
    if (HasOtherWork(token)) {
      group.part = LatencyPart::kDecode;
      group.has_other_work = true;
      if (time_.OtherProcess() != kNone && time_.OtherProcess() != ProcessOf(request))
        group.where = NameOf(trace_.processes[time_.OtherProcess()]);
      return group;
    }
    if (group.part == LatencyPart::kHost) {
      group.where = places_.MostOf(ThreadOf(request, token), time_.HostIntervals(ProcessOf(request), token.time));
    } else if (group.part == LatencyPart::kOutput) {
      const TokensOut& out = request.tokens[token.token];
      group.where =
          places_.MostOf(out.thread, {{token.time.end_ns - token.split[LatencyPart::kOutput], token.time.end_ns}});
    } else if (group.part == LatencyPart::kMixed) {
      group.least_prefill_tokens = PrefillBeside(request, token);
      group.is_mostly_host = 2 * token.split[LatencyPart::kHost] > token.time.DurationNs();
      if (group.is_mostly_host)
        group.where = places_.MostOf(ThreadOf(request, token), time_.HostIntervals(ProcessOf(request), token.time));
    } else if (group.part == LatencyPart::kNotScheduled || group.part == LatencyPart::kPrefill) {
      group.was_preempted = request.preemptions > 0;
    }
    return group;
  }

 private:
  // At least half of what it is late by went to others: a GPU that is shared in turns makes kernels of the step longer,
  // and lets them wait while the GPU does nothing for the step, which looks like time of the host.
  bool HasOtherWork(const Latency& token) const {
    const auto duration_ns = static_cast<double>(token.time.DurationNs());
    const double more_ns = static_cast<double>(time_.OtherWorkNs(token.time)) - usual_share_ * duration_ns;
    return more_ns > 0 && 2 * more_ns >= duration_ns - static_cast<double>(median_ns_);
  }

  // A step with prompts in it takes longer as a whole: what its host code takes is a part of that.
  LatencyPart MostExtra(const ServedRequest& request, const Latency& token, const LatencySplit& usual) const {
    StepSplit own_prompt, prompts_of_others;
    time_.ForEachStep(ProcessOf(request), token.time, [&](uint32_t step, const StepSplit& split) {
      const Membership* const member = ServedRequests::Find(request, step);
      if (member == nullptr || served_.steps()[step].prefills == 0) return;
      (member->is_prefill ? own_prompt : prompts_of_others) += split;
    });
    LatencySplit extra = token.split;
    for (size_t i = 0; i < kLatencyParts; ++i) extra.ns[i] -= usual.ns[i];
    const int64_t usual_step_ns = KernelNs(usual) + usual[LatencyPart::kHost];
    extra[LatencyPart::kDecode] = KernelNs(token.split) - KernelNs(usual);
    extra[LatencyPart::kMixed] = INT64_MIN;
    if (own_prompt.Sum() + prompts_of_others.Sum() > 0) {
      extra[LatencyPart::kPrefill] = own_prompt.Sum() - usual_step_ns;
      extra[LatencyPart::kMixed] = prompts_of_others.Sum() - usual_step_ns;
      extra[LatencyPart::kDecode] = token.split[LatencyPart::kDecode] - KernelNs(usual);
      extra[LatencyPart::kHost] = token.split[LatencyPart::kHost] - own_prompt.host_ns - prompts_of_others.host_ns;
    }
    const auto most = std::ranges::max_element(extra.ns);
    return static_cast<LatencyPart>(most - extra.ns.begin());
  }

  std::string NameOf(const Process& process) const {
    return std::string(trace_.Text(process.name)) + " (" + std::to_string(process.pid) + ")";
  }

  uint32_t ProcessOf(const ServedRequest& request) const {
    return request.steps.empty() ? request.process : served_.steps()[request.steps.front().step].process;
  }

  uint32_t ThreadOf(const ServedRequest& request, const Latency& token) const {
    const uint32_t step = request.tokens[token.token].step;
    if (step != kNone) return served_.steps()[step].thread;
    return request.steps.empty() ? kNone : served_.steps()[request.steps.front().step].thread;
  }

  // Tokens of prompts in the step that took most of its time.
  int64_t PrefillBeside(const ServedRequest& request, const Latency& token) const {
    int64_t most_ns = 0, tokens = 0;
    time_.ForEachStep(ProcessOf(request), token.time, [&](uint32_t step, const StepSplit& split) {
      const BatchStep& batch = served_.steps()[step];
      if (!batch.IsMixed() || split.kernel_ns <= most_ns) return;
      most_ns = split.kernel_ns;
      tokens = batch.prefill_tokens;
    });
    return tokens;
  }

  const Trace& trace_;
  const ServedRequests& served_;
  const EngineTime& time_;
  ThreadPlaces places_;
  const int64_t median_ns_;
  const double usual_share_;
};

void AddTo(LateGroup* group, const LateGroup& one, int64_t extra_ns) {
  ++group->tokens;
  group->extra_ns += extra_ns;
  group->least_prefill_tokens = std::min(group->least_prefill_tokens, one.least_prefill_tokens);
  if (group->tokens == 1 || one.worst.time.DurationNs() > group->worst.time.DurationNs()) group->worst = one.worst;
}

}  // namespace

LateTokens::LateTokens(const AnalysisInput& input, const ServedRequests& served, const EngineTime& time,
                       const Latencies& latencies) {
  const std::vector<Latency>& tokens = latencies.next_tokens();
  late_from_ns = LateFrom(tokens, &median_ns);
  int64_t others = 0, others_ns = 0, other_work_ns = 0;
  for (const Latency& token : tokens) {
    if (token.time.DurationNs() > late_from_ns) continue;
    usual += token.split;
    ++others;
    others_ns += token.time.DurationNs();
    other_work_ns += time.OtherWorkNs(token.time);
  }
  for (int64_t& ns : usual.ns) ns /= std::max<int64_t>(others, 1);
  const double usual_share = static_cast<double>(other_work_ns) / static_cast<double>(std::max<int64_t>(others_ns, 1));
  Reasons reasons(input, served, time, median_ns, usual_share);
  std::map<std::tuple<LatencyPart, std::string, bool, bool>, uint32_t> number_of;
  group_of.assign(tokens.size(), kNone);
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i].time.DurationNs() <= late_from_ns) continue;
    const LateGroup one = reasons.Of(tokens[i], usual);
    const auto [number, is_first] =
        number_of.try_emplace({one.part, one.where, one.has_other_work, one.was_preempted}, groups.size());
    if (is_first) groups.push_back(one);
    const int64_t token_extra_ns = tokens[i].time.DurationNs() - median_ns;
    AddTo(&groups[number->second], one, token_extra_ns);
    group_of[i] = number->second;
    ++late;
    extra_ns += token_extra_ns;
  }
  SortGroups();
}

void LateTokens::SortGroups() {
  std::vector<uint32_t> order(groups.size()), place(groups.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::sort(order, {}, [&](uint32_t i) { return std::tuple(-groups[i].extra_ns, groups[i].part, i); });
  std::vector<LateGroup> sorted;
  for (const uint32_t i : order) {
    place[i] = static_cast<uint32_t>(sorted.size());
    sorted.push_back(std::move(groups[i]));
  }
  groups = std::move(sorted);
  for (uint32_t& group : group_of) {
    if (group != kNone) group = place[group];
  }
}

}  // namespace gprof
