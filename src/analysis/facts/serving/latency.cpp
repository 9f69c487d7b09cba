#include "analysis/facts/serving/latency.h"

#include <algorithm>
#include <numeric>

namespace gprof {
namespace {

constexpr LatencyPartInfo kInfos[kLatencyParts] = {
    {"queue", "queue", "Queue"},
    {"prefill", "own prefill", "Prefill"},
    {"decode", "own decode", "Decode"},
    {"mixed", "decode beside prefill of others", "Mixed"},
    {"copies", "copies", "Copies"},
    {"host", "host", "Host"},
    {"not_scheduled", "steps without it", "Not in"},
    {"output", "output", "Output"},
};

}  // namespace

const LatencyPartInfo& InfoOf(LatencyPart part) { return kInfos[static_cast<size_t>(part)]; }

int64_t LatencySplit::Sum() const { return std::accumulate(ns.begin(), ns.end(), int64_t{0}); }

LatencySplit& LatencySplit::operator+=(const LatencySplit& more) {
  for (size_t i = 0; i < kLatencyParts; ++i) ns[i] += more.ns[i];
  return *this;
}

Latencies::Latencies(const ServedRequests& served, const EngineTime& time) : served_(served), time_(time) {
  for (uint32_t i = 0; i < served.requests().size(); ++i) {
    const ServedRequest& request = served.requests()[i];
    int64_t since_ns = request.arrived_ns;
    for (uint32_t token = 0; token < request.tokens.size(); ++token) {
      const TokensOut& out = request.tokens[token];
      const Interval from_to{since_ns, out.time_ns};
      since_ns = out.time_ns;
      if (token == 0 && !request.HasArrived()) continue;
      if (from_to.end_ns < from_to.start_ns) continue;
      (token == 0 ? first_tokens_ : next_tokens_).push_back({i, token, from_to, Split(request, from_to, out.step)});
    }
  }
}

// `step` found the token that ends the interval.
LatencySplit Latencies::Split(const ServedRequest& request, const Interval& time, uint32_t step) const {
  LatencySplit split;
  Interval rest = time;
  if (step != kNone && time_.EndOf(step) < rest.end_ns) {
    const int64_t known_ns = std::max(time_.EndOf(step), rest.start_ns);
    split[LatencyPart::kOutput] = rest.end_ns - known_ns;
    rest.end_ns = known_ns;
  }
  if (!request.steps.empty()) {
    const int64_t begun_ns =
        std::clamp(served_.steps()[request.steps.front().step].time.start_ns, rest.start_ns, rest.end_ns);
    split[LatencyPart::kQueue] = begun_ns - rest.start_ns;
    rest.start_ns = begun_ns;
  }
  int64_t in_steps_ns = 0;
  const uint32_t process =
      request.steps.empty() ? request.process : served_.steps()[request.steps.front().step].process;
  time_.ForEachStep(process, rest, [&](uint32_t at, const StepSplit& of_step) {
    in_steps_ns += of_step.Sum();
    const Membership* const member = ServedRequests::Find(request, at);
    if (member == nullptr) {
      split[LatencyPart::kNotScheduled] += of_step.Sum();
      return;
    }
    const LatencyPart kernels = member->is_prefill                 ? LatencyPart::kPrefill
                                : served_.steps()[at].prefills > 0 ? LatencyPart::kMixed
                                                                   : LatencyPart::kDecode;
    split[kernels] += of_step.kernel_ns;
    split[LatencyPart::kCopies] += of_step.copy_ns;
    split[LatencyPart::kHost] += of_step.host_ns;
  });
  split[LatencyPart::kHost] += rest.DurationNs() - in_steps_ns;
  return split;
}

}  // namespace gprof
