// What a request waited for, nanosecond by nanosecond: the parts of a latency add up to it exactly.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "analysis/facts/serving/engine_time.h"
#include "analysis/facts/serving/served_requests.h"

namespace gprof {

enum class LatencyPart : uint8_t {
  kQueue,         // before its first step
  kPrefill,       // kernels of steps that computed its prompt
  kDecode,        // kernels of steps that decoded it, with no prompt in their batch
  kMixed,         // kernels of steps that decoded it beside prompts of others
  kCopies,        // copies of its steps
  kHost,          // host code, in its steps and between steps, with no work of a step on the GPU
  kNotScheduled,  // steps without it, after its first one
  kOutput,        // from the end of the step that found a token until the token was handed out
};
inline constexpr size_t kLatencyParts = 8;

struct LatencyPartInfo {
  std::string_view key, name;  // "mixed", "decode beside prefill of others"
  std::string_view title;      // of a column: "Beside prefill"
};
const LatencyPartInfo& InfoOf(LatencyPart part);

struct LatencySplit {
  std::array<int64_t, kLatencyParts> ns{};
  int64_t& operator[](LatencyPart part) { return ns[static_cast<size_t>(part)]; }
  int64_t operator[](LatencyPart part) const { return ns[static_cast<size_t>(part)]; }
  int64_t Sum() const;
  LatencySplit& operator+=(const LatencySplit& more);
};

// The time to the first token of a request (`token` 0), or from one token to the next.
struct Latency {
  uint32_t request = kNone, token = 0;
  Interval time;
  LatencySplit split;
};

class Latencies {
 public:
  Latencies(const ServedRequests& served, const EngineTime& time);
  // Of requests whose arrival is known, by request.
  const std::vector<Latency>& first_tokens() const { return first_tokens_; }
  const std::vector<Latency>& next_tokens() const { return next_tokens_; }

 private:
  LatencySplit Split(const ServedRequest& request, const Interval& time, uint32_t step) const;

  const ServedRequests& served_;
  const EngineTime& time_;
  std::vector<Latency> first_tokens_, next_tokens_;
};

}  // namespace gprof
