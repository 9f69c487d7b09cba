#include "analysis/topics/serving/late_tokens.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <span>
#include <tuple>

#include "analysis/facts/places/call_places.h"
#include "analysis/facts/shared_facts.h"
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
  Reasons(const AnalysisInput& input, const ServedRequests& served, const EngineTime& time)
      : trace_(input.trace()), served_(served), time_(time), place_of_(trace_, input.shared().python_lines()) {}

  // What the group of a late token is told apart by; `usual` is what others take.
  LateGroup Of(const Latency& token, const LatencySplit& usual) {
    const ServedRequest& request = served_.requests()[token.request];
    LateGroup group;
    group.part = MostExtra(ProcessOf(request), token, usual);
    group.worst = token;
    if (group.part == LatencyPart::kHost) {
      group.where = PlaceIn(ThreadOf(request, token), time_.HostIntervals(ProcessOf(request), token.time));
    } else if (group.part == LatencyPart::kOutput) {
      const TokensOut& out = request.tokens[token.token];
      group.where = PlaceIn(out.thread, {{token.time.end_ns - token.split[LatencyPart::kOutput], token.time.end_ns}});
    } else if (group.part == LatencyPart::kMixed) {
      group.least_prefill_tokens = PrefillBeside(request, token);
    } else if (group.part == LatencyPart::kNotScheduled || group.part == LatencyPart::kPrefill) {
      group.was_preempted = request.preemptions > 0;
    } else if (group.part == LatencyPart::kDecode) {
      const int64_t extra_ns = KernelNs(token.split) - KernelNs(usual);
      group.has_other_work = 2 * time_.OtherWorkNs(token.time) >= extra_ns;
      if (group.has_other_work && time_.OtherProcess() != kNone && time_.OtherProcess() != ProcessOf(request))
        group.where = NameOf(trace_.processes[time_.OtherProcess()]);
    }
    return group;
  }

 private:
  // A step that has prompts of others to compute takes longer as a whole: what its host code takes is a part of that.
  LatencyPart MostExtra(uint32_t process, const Latency& token, const LatencySplit& usual) const {
    StepSplit mixed;
    time_.ForEachStep(process, token.time, [&](uint32_t step, const StepSplit& split) {
      if (served_.steps()[step].IsMixed()) mixed += split;
    });
    LatencySplit extra = token.split;
    for (size_t i = 0; i < kLatencyParts; ++i) extra.ns[i] -= usual.ns[i];
    extra[LatencyPart::kDecode] = KernelNs(token.split) - KernelNs(usual);
    extra[LatencyPart::kMixed] = INT64_MIN;
    if (token.split[LatencyPart::kMixed] > 0 || (mixed.Sum() > 0 && token.split[LatencyPart::kDecode] == 0)) {
      extra[LatencyPart::kMixed] = mixed.Sum() - KernelNs(usual) - usual[LatencyPart::kHost];
      extra[LatencyPart::kHost] = token.split[LatencyPart::kHost] - mixed.host_ns;
      extra[LatencyPart::kDecode] = INT64_MIN;
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

  // Where the thread was most of the time, by samples and by long calls of the operating system.
  std::string PlaceIn(uint32_t thread, const std::vector<Interval>& times) {
    PlaceSums sums;
    for (const Interval& time : times) {
      auto sample = std::ranges::lower_bound(trace_.cpu_samples, time.start_ns, {}, &CpuSample::time_ns);
      for (; sample != trace_.cpu_samples.end() && sample->time_ns < time.end_ns; ++sample) {
        if (sample->thread == thread) sums.Add(place_of_.Named(sample->stack), std::max<int64_t>(sample->weight_ns, 1));
      }
    }
    return sums.Main();
  }

  const Trace& trace_;
  const ServedRequests& served_;
  const EngineTime& time_;
  CallPlaces place_of_;
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
  int64_t others = 0;
  for (const Latency& token : tokens) {
    if (token.time.DurationNs() > late_from_ns) continue;
    usual += token.split;
    ++others;
  }
  for (int64_t& ns : usual.ns) ns /= std::max<int64_t>(others, 1);
  Reasons reasons(input, served, time);
  std::map<std::tuple<LatencyPart, std::string, bool, bool>, LateGroup> by_reason;
  for (const Latency& token : tokens) {
    if (token.time.DurationNs() <= late_from_ns) continue;
    const LateGroup one = reasons.Of(token, usual);
    const int64_t token_extra_ns = token.time.DurationNs() - median_ns;
    const auto [group, is_first] =
        by_reason.try_emplace({one.part, one.where, one.has_other_work, one.was_preempted}, one);
    AddTo(&group->second, one, token_extra_ns);
    ++late;
    extra_ns += token_extra_ns;
  }
  for (auto& [key, group] : by_reason) groups.push_back(std::move(group));
  std::ranges::sort(groups, [](const LateGroup& a, const LateGroup& b) {
    return std::tuple(b.extra_ns, a.part, a.where) < std::tuple(a.extra_ns, b.part, b.where);
  });
}

}  // namespace gprof
