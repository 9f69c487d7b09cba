// What the KV cache saved of prompts, and what was computed again.
#pragma once

#include <cstdint>

#include "analysis/facts/serving/engine_time.h"
#include "analysis/facts/serving/served_requests.h"

namespace gprof {

// Tokens of some kind, and what computed them.
struct PromptTokens {
  int64_t tokens = 0, requests = 0;
  int64_t steps = 0, kernel_ns = 0;  // of all steps with such tokens: more than the tokens alone cost
  double share_ns = 0;               // of that by tokens, an estimate
};

// `cached` and `computed` are those of requests whose arrival was recorded: of others nobody knows what was before.
// `again`: at a place behind which the request had been before; drafts that were not accepted are none.
struct PromptCache {
  PromptCache(const ServedRequests& served, const EngineTime& time);
  int64_t Prompts() const { return cached.tokens + computed.tokens; }

  PromptTokens cached, computed, again;
};

}  // namespace gprof
