// What a serving engine told of its requests and steps: a part of the model in gprof/trace.h, which includes this.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "gprof/events.h"
#include "gprof/fields.h"
#include "gprof/trace/record.h"

namespace gprof {

constexpr std::array<std::string_view, 6> WordsOf(trace::RequestEventKind) {
  return {"named", "arrived", "tokens out", "preempted", "finished", "aborted"};
}

// Something happened to a request.
struct RequestEvent {
  int64_t time_ns = 0;
  uint32_t process = kNone, thread = kNone;
  uint32_t request = 0;  // its number in the process
  uint32_t tokens = 0;   // arrived: of its prompt; tokens out: how many
  NameId name;           // what the engine calls it; of kNamed
  trace::RequestEventKind event = trace::RequestEventKind::kNamed;
  template <class M, class V>
  static constexpr void Fields(M& m, V&& v) {
    v(FieldOf{"time_ns", Role::kTime}, m.time_ns);
    v(FieldOf{"process", Role::kProcess}, m.process);
    v(FieldOf{"thread", Role::kThread}, m.thread);
    v(FieldOf{"request"}, m.request);
    v(FieldOf{"tokens"}, m.tokens);
    v(FieldOf{"name"}, m.name);
    v(FieldOf{"event"}, m.event);
  }
};

// One run of the model on a batch of requests.
struct EngineStep {
  int64_t start_ns = 0, end_ns = 0;
  uint32_t process = kNone, thread = kNone;
  uint32_t step = 0;                         // its number in the process
  int64_t requests = 0, waiting = 0;         // in its batch, and in the queue when it began
  int64_t cache_used = 0, cache_blocks = 0;  // of the KV cache; 0 blocks: not known
  template <class M, class V>
  static constexpr void Fields(M& m, V&& v) {
    v(FieldOf{"start_ns", Role::kStart}, m.start_ns);
    v(FieldOf{"end_ns", Role::kEnd}, m.end_ns);
    v(FieldOf{"process", Role::kProcess}, m.process);
    v(FieldOf{"thread", Role::kThread}, m.thread);
    v(FieldOf{"step"}, m.step);
    v(FieldOf{"requests"}, m.requests);
    v(FieldOf{"waiting"}, m.waiting);
    v(FieldOf{"cache_used"}, m.cache_used);
    v(FieldOf{"cache_blocks"}, m.cache_blocks);
  }
};

// A request in the batch of a step.
struct StepRequest {
  int64_t time_ns = 0;  // when the step began
  uint32_t process = kNone;
  uint32_t step = 0, request = 0;   // their numbers in the process
  uint32_t tokens = 0, cached = 0;  // computed in this step, and before them in the KV cache
  uint32_t tokens_out = 0;          // new ones that it found
  bool is_prefill = false;          // the tokens are of its prompt
  template <class M, class V>
  static constexpr void Fields(M& m, V&& v) {
    v(FieldOf{"time_ns", Role::kTime}, m.time_ns);
    v(FieldOf{"process", Role::kProcess}, m.process);
    v(FieldOf{"step"}, m.step);
    v(FieldOf{"request"}, m.request);
    v(FieldOf{"tokens"}, m.tokens);
    v(FieldOf{"cached"}, m.cached);
    v(FieldOf{"tokens_out"}, m.tokens_out);
    v(FieldOf{"is_prefill"}, m.is_prefill);
  }
};

}  // namespace gprof
