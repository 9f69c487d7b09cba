// The requests and steps of a serving engine, as its hooks told of them: who was in which step, when tokens came out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "gprof/trace.h"

namespace gprof {

// One run of the model on a batch.
struct BatchStep {
  Interval time;  // from its begin until its tokens were known
  uint32_t process = kNone, thread = kNone;
  int64_t number = 0;                        // in its process
  int64_t waiting = 0;                       // requests in the queue when it began
  int64_t cache_used = 0, cache_blocks = 0;  // of the KV cache; 0 blocks: not known
  int64_t prefill_tokens = 0, decode_tokens = 0, tokens_out = 0;
  int64_t prefills = 0, decodes = 0;  // requests
  uint32_t longest_prefill = kNone;   // request with the most tokens of a prompt in it
  int64_t longest_prefill_tokens = 0;

  bool IsMixed() const { return prefills > 0 && decodes > 0; }
};

// A request in a step.
struct Membership {
  uint32_t step = kNone;
  int64_t tokens = 0, cached = 0, tokens_out = 0;  // 0 tokens: it is not known how many, nor what was cached
  bool is_prefill = false;
};

// Tokens that were handed out at once, or that a step found where nobody said when they were handed out.
struct TokensOut {
  int64_t time_ns = 0;
  int64_t tokens = 0;
  uint32_t step = kNone;    // that found the last of them; kNone: not known
  uint32_t thread = kNone;  // that handed them out
};

struct ServedRequest {
  std::string name;
  uint32_t process = kNone;
  int64_t prompt_tokens = 0;                             // 0: not known
  int64_t arrived_ns = INT64_MIN, ended_ns = INT64_MIN;  // INT64_MIN: before or after what was recorded
  bool is_aborted = false;
  int64_t preemptions = 0;
  std::vector<Membership> steps;  // in order
  std::vector<TokensOut> tokens;  // in order
  int64_t later_tokens = 0;       // handed out until its end, nobody said when: what its last event has

  bool HasArrived() const { return arrived_ns != INT64_MIN; }
  int64_t OutputTokens() const;
  // Only where there is one.
  int64_t LastTokenNs() const { return later_tokens > 0 ? ended_ns : tokens.back().time_ns; }
};

// An engine that told of nothing may have steps all the same: vLLM names a range
// "execute_context_1(512)_generation_7(7)" after the requests and tokens of each. What these requests were is not known
// then.
//
// Where several processes tell of the same requests, as the workers of a model that is split over GPUs do, the steps of
// the one with the most of them count.
class ServedRequests {
 public:
  ServedRequests() = default;  // of nothing
  explicit ServedRequests(const Trace& trace);

  // False: the trace has none of them, which is cheaper to know.
  static bool MayBeIn(const Trace& trace);
  bool empty() const { return steps_.empty() && requests_.empty(); }
  const std::vector<BatchStep>& steps() const { return steps_; }            // by begin
  const std::vector<ServedRequest>& requests() const { return requests_; }  // by arrival, then by first step
  // Tokens that were handed out, and the time from the first step to the last of them.
  int64_t OutputTokens() const;
  Interval Span() const;
  // The membership of the request in the step; null where it was not in it.
  static const Membership* Find(const ServedRequest& request, uint32_t step);

 private:
  std::vector<BatchStep> steps_;
  std::vector<ServedRequest> requests_;
};

}  // namespace gprof
