#include "analysis/facts/serving/prompt_cache.h"

#include <algorithm>
#include <map>

namespace gprof {
namespace {

void AddSteps(const std::map<uint32_t, int64_t>& tokens_of_steps, const ServedRequests& served, const EngineTime& time,
              PromptTokens* sum) {
  for (const auto& [step, tokens] : tokens_of_steps) {
    const BatchStep& batch = served.steps()[step];
    const int64_t kernel_ns = time.Of(step).kernel_ns;
    ++sum->steps;
    sum->kernel_ns += kernel_ns;
    sum->share_ns += static_cast<double>(kernel_ns) * static_cast<double>(tokens) /
                     static_cast<double>(std::max<int64_t>(batch.prefill_tokens + batch.decode_tokens, 1));
  }
}

}  // namespace

PromptCache::PromptCache(const ServedRequests& served, const EngineTime& time) {
  std::map<uint32_t, int64_t> computed_in, again_in;  // by step
  for (const ServedRequest& request : served.requests()) {
    if (request.steps.empty()) continue;
    const bool is_whole = request.HasArrived() && request.steps.front().is_prefill;
    int64_t reached = 0, own_computed = 0, own_again = 0;
    for (const Membership& member : request.steps) {
      if (member.is_prefill && member.tokens > 0) {
        const int64_t again = std::clamp<int64_t>(reached - member.cached, 0, member.tokens);
        own_again += again;
        if (again > 0) again_in[member.step] += again;
        own_computed += member.tokens - again;
        if (is_whole && again < member.tokens) computed_in[member.step] += member.tokens - again;
      }
      reached = std::max(reached, member.cached + (member.is_prefill ? member.tokens : member.tokens_out));
    }
    again.tokens += own_again;
    again.requests += own_again > 0;
    if (!is_whole || own_computed == 0) continue;
    cached.tokens += request.steps.front().cached;
    cached.requests += request.steps.front().cached > 0;
    computed.tokens += own_computed;
    ++computed.requests;
  }
  AddSteps(computed_in, served, time, &computed);
  AddSteps(again_in, served, time, &again);
}

}  // namespace gprof
