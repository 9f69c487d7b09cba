// Requests and steps that an engine tells of by NVTX (gprof_cli/serving_nvtx.h): payloads of one domain become the
// records that the calls of gprof/trace/serving_calls.h would have made.
#include <algorithm>
#include <map>
#include <string_view>

#include "trace/join/join.h"

namespace gprof {
namespace {

constexpr std::string_view kDomain = "gprof-cli.serving";

class ServingPayloads {
 public:
  explicit ServingPayloads(UnjoinedTrace& unjoined) : unjoined_(unjoined), trace_(unjoined.trace) {}

  void Run() {
    for (const NvtxPayload& payload : trace_.payloads) {
      if (payload.domain == kNone || payload.thread == kNone || !IsOfServing(payload.domain)) continue;
      if (payload.mark != kNone && Has(payload, "event")) {
        AddEvent(payload);
      } else if (payload.mark != kNone && Has(payload, "is_prefill")) {
        AddMember(payload);
      } else if (payload.range != kNone && Has(payload, "cache_blocks")) {
        AddStep(payload);
      }
    }
  }

 private:
  bool IsOfServing(uint32_t domain) const { return unjoined_.names.Text(trace_.domains[domain].name) == kDomain; }

  const PayloadValue* Find(const NvtxPayload& payload, std::string_view key) const {
    for (uint32_t i = payload.first_value; i < payload.last_value; ++i) {
      const PayloadValue& value = trace_.payload_values[i];
      if (value.is_integer && unjoined_.names.Text(value.key) == key) return &value;
    }
    return nullptr;
  }
  bool Has(const NvtxPayload& payload, std::string_view key) const { return Find(payload, key) != nullptr; }
  // What is not there, or below 0, is 0.
  uint32_t NumberOf(const NvtxPayload& payload, std::string_view key) const {
    const PayloadValue* const value = Find(payload, key);
    return value == nullptr ? 0 : static_cast<uint32_t>(std::clamp<int64_t>(value->integer, 0, UINT32_MAX));
  }

  void AddEvent(const NvtxPayload& payload) {
    const uint32_t kind = NumberOf(payload, "event");
    if (kind >= WordsOf(trace::RequestEventKind{}).size()) return;
    const PayloadValue* const ago = Find(payload, "ago_ns");
    RequestEvent event;
    event.time_ns = payload.time_ns;
    if (ago != nullptr) event.time_ns -= std::clamp<int64_t>(ago->integer, 0, payload.time_ns);
    event.process = trace_.threads[payload.thread].process;
    event.thread = payload.thread;
    event.request = NumberOf(payload, "request");
    event.tokens = NumberOf(payload, "tokens");
    event.event = static_cast<trace::RequestEventKind>(kind);
    if (event.event == trace::RequestEventKind::kNamed) event.name = trace_.marks[payload.mark].name;
    trace_.request_events.push_back(event);
  }

  void AddStep(const NvtxPayload& payload) {
    const NvtxRange range = trace_.ranges[payload.range];
    if (range.is_open || range.is_cut) return;  // nobody saw its end
    EngineStep step;
    step.start_ns = range.start_ns;
    step.end_ns = range.end_ns;
    step.thread = payload.thread;
    step.process = trace_.threads[payload.thread].process;
    step.step = ++last_step_[step.process];
    step.waiting = NumberOf(payload, "waiting");
    step.cache_used = NumberOf(payload, "cache_used");
    step.cache_blocks = NumberOf(payload, "cache_blocks");
    step_of_thread_[payload.thread] = trace_.engine_steps.size();
    trace_.engine_steps.push_back(step);
  }

  // It is of the step that began last in its thread.
  void AddMember(const NvtxPayload& payload) {
    const auto found = step_of_thread_.find(payload.thread);
    if (found == step_of_thread_.end()) return;
    EngineStep& step = trace_.engine_steps[found->second];
    if (payload.time_ns > step.end_ns) return;
    ++step.requests;
    StepRequest member;
    member.time_ns = step.start_ns;
    member.process = step.process;
    member.step = step.step;
    member.request = NumberOf(payload, "request");
    member.tokens = NumberOf(payload, "tokens");
    member.cached = NumberOf(payload, "cached");
    member.tokens_out = NumberOf(payload, "tokens_out");
    member.is_prefill = NumberOf(payload, "is_prefill") != 0;
    trace_.step_requests.push_back(member);
  }

  UnjoinedTrace& unjoined_;
  Trace& trace_;
  std::map<uint32_t, uint32_t> last_step_;     // by process
  std::map<uint32_t, size_t> step_of_thread_;  // its place in engine_steps
};

}  // namespace

void ReadServingPayloads(UnjoinedTrace& unjoined) { ServingPayloads(unjoined).Run(); }

}  // namespace gprof
