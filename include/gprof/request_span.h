// The span that a serving engine exports for a request when it ends (OpenTelemetry): what the engine itself measured.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace gprof {

// Lengths of time count from the start, which is the arrival. Nothing: the span does not tell.
struct RequestSpan {
  std::string request;        // what the engine calls it
  int64_t start_unix_ns = 0;  // since 1970
  std::optional<int64_t> first_token_ns, end_ns;
  std::optional<int64_t> queue_ns;               // in the queue until its first step
  int64_t prompt_tokens = 0, output_tokens = 0;  // 0: not told
};

}  // namespace gprof
