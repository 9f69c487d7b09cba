#include "html/timeline/event_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "analysis/calls/call_kinds.h"
#include "analysis/host/os_call_kinds.h"
#include "analysis/result/display_names.h"
#include "analysis/trust/overhead_kinds.h"
#include "export/stacks/sampled_frames.h"
#include "html/timeline/host_rows.h"

namespace gprof {
namespace {

constexpr std::size_t kMostPayloads =
    200'000;  // that are written out: a number for each of millions of ranges is no help
constexpr std::size_t kLongestPayloadBytes = 1000;

// What is said of an NVTX event besides its name and color, as one line.
class PayloadText : public ArgSink {
 public:
  void Int(std::string_view key, int64_t value) override { Add(key, std::to_string(value)); }
  void Uint(std::string_view key, uint64_t value) override { Add(key, std::to_string(value)); }
  void Real(std::string_view key, double value) override { Add(key, fmt::format("{}", value)); }
  void Bool(std::string_view key, bool value) override { Add(key, value ? "yes" : "no"); }
  void Text(std::string_view key, std::string_view value) override { Add(key, value); }
  void Dim(std::string_view, uint32_t, uint32_t, uint32_t) override {}
  const std::string& text() const { return text_; }

 private:
  void Add(std::string_view key, std::string_view value) {
    if (key == "External id" || key == "color") return;
    if (!text_.empty()) text_ += ", ";
    text_.append(key).append(" = ").append(value);
  }
  std::string text_;
};

EventKind KindOf(const GpuOp& op) {
  switch (op.kind) {
    case OpKind::kKernel:
      return EventKind::kKernel;
    case OpKind::kMemset:
      return EventKind::kMemset;
    case OpKind::kGraph:
      return EventKind::kGraph;
    case OpKind::kMemcpy:
    case OpKind::kPeerCopy:
      break;
  }
  switch (DirectionOf(op)) {
    case Direction::kH2d:
      return op.IsPageable() ? EventKind::kPageableH2d : EventKind::kCopyH2d;
    case Direction::kD2h:
      return op.IsPageable() ? EventKind::kPageableD2h : EventKind::kCopyD2h;
    case Direction::kD2d:
      return EventKind::kCopyD2d;
    case Direction::kP2p:
      return EventKind::kCopyPeer;
    case Direction::kH2h:
    case Direction::kOther:
      break;
  }
  return EventKind::kCopyOther;
}

EventKind KindOf(ApiClass api_class) {
  switch (api_class) {
    case ApiClass::kLaunch:
      return EventKind::kApiLaunch;
    case ApiClass::kCopy:
      return EventKind::kApiCopy;
    case ApiClass::kMemset:
      return EventKind::kApiMemset;
    case ApiClass::kSync:
      return EventKind::kApiSync;
    case ApiClass::kMemory:
      return EventKind::kApiMemory;
    case ApiClass::kLoad:
      return EventKind::kApiLoad;
    case ApiClass::kQuery:
      return EventKind::kApiQuery;
    case ApiClass::kStream:
      return EventKind::kApiStream;
    case ApiClass::kEvent:
      return EventKind::kApiEvent;
    case ApiClass::kGraphLaunch:
      return EventKind::kApiGraph;
    case ApiClass::kOther:
      break;
  }
  return EventKind::kApiOther;
}

uint64_t ColorValue(uint32_t color) {
  constexpr uint32_t kRgb = 0xFFFFFF;
  return color == 0 ? 0 : uint64_t{color & kRgb} + 1;
}

}  // namespace

EventFacts EventReader::Read(EventSource source, uint32_t item) {
  switch (source) {
    case EventSource::kOp:
      return OfOp(trace_.ops[item]);
    case EventSource::kCall:
      return OfCall(item);
    case EventSource::kRange:
      return OfRange(item);
    case EventSource::kMark:
      return OfMark(item);
    case EventSource::kIdlePart:
      return OfIdlePart(timeline_.idle_parts[item]);
    case EventSource::kOverhead:
      return OfOverhead(trace_.overheads[item]);
    case EventSource::kMpiCall:
      return OfMpiCall(trace_.mpi_calls[item]);
    case EventSource::kOsCall:
      return OfOsCall(trace_.os_calls[item]);
    case EventSource::kThreadState:
      return OfState(timeline_.thread_states[item]);
    case EventSource::kSample:
      return OfSample(trace_.cpu_samples[item]);
    case EventSource::kNothing:
      break;
  }
  return {};
}

EventFacts EventReader::OfOp(const GpuOp& op) {
  EventFacts facts;
  facts.name = names_.Of(op);
  facts.kind = KindOf(op);
  facts.shape = op.shape == kNone ? 0 : Shape(op.shape) + 1;
  facts.call = OutermostCall(trace_, op.api);
  facts.size_bytes = op.size_bytes;
  if (op.IsCopy() || op.kind == OpKind::kMemset) {
    constexpr uint32_t kKinds = 16;
    facts.memory = static_cast<uint32_t>(op.source_memory) * kKinds + static_cast<uint32_t>(op.destination_memory);
  }
  facts.correlation = trace_.CorrelationOf(op);
  return facts;
}

EventFacts EventReader::OfCall(uint32_t index) {
  const ApiCall& call = trace_.api_calls[index];
  EventFacts facts;
  facts.name = names_.Of(call.function);
  facts.kind = KindOf(call.api_class);
  facts.range = call.range;
  facts.correlation = call.correlation;
  facts.result = static_cast<uint32_t>(call.result);
  facts.stack = stacks_.Of(call.stack);
  return facts;
}

EventFacts EventReader::OfRange(uint32_t index) {
  const NvtxRange& range = trace_.ranges[index];
  EventFacts facts;
  facts.name = names_.Of(range.name);
  facts.kind = range.is_push_pop ? EventKind::kNvtxRange : EventKind::kNvtxStartEnd;
  facts.color = ColorValue(range.color);
  facts.payload = Payload([&](ArgSink& sink) { args_.OfRange(index, sink); });
  return facts;
}

EventFacts EventReader::OfMark(uint32_t index) {
  const NvtxMark& mark = trace_.marks[index];
  EventFacts facts;
  facts.name = names_.Of(mark.name);
  facts.kind = EventKind::kNvtxMark;
  facts.color = ColorValue(mark.color);
  facts.payload = Payload([&](ArgSink& sink) { args_.OfMark(index, sink); });
  return facts;
}

EventFacts EventReader::OfIdlePart(const IdlePart& part) {
  EventFacts facts;
  facts.name = names_.Of(InfoOf(part.cause).name);
  facts.kind = EventKind::kGap;
  facts.next = part.next;
  facts.blame_call = OutermostCall(trace_, part.call);
  facts.blame_range = part.range;
  if (part.function != NameId{}) facts.function = names_.Of(part.function) + 1;
  return facts;
}

EventFacts EventReader::OfOverhead(const Overhead& overhead) {
  EventFacts facts;
  facts.name = names_.Of(OverheadName(overhead.kind));
  facts.kind = EventKind::kOverhead;
  return facts;
}

EventFacts EventReader::OfOsCall(const OsCall& call) {
  const OsCallKind kind = KindOf(call);
  EventFacts facts;
  facts.name = names_.Of(call.function);
  facts.kind = EventKind::kOsCall;
  facts.range = RangeAround(trace_, call.thread, call.start_ns);
  facts.size_bytes = call.size_bytes;
  facts.result = call.error;
  facts.stack = stacks_.Of(call.stack);
  facts.object = NameOrNone(ObjectName(trace_, kind));
  facts.other = NameOrNone(HolderName(trace_, kind));
  if (call.is_unfinished) facts.payload = NameOrNone("the process ended inside it");
  return facts;
}

EventFacts EventReader::OfMpiCall(const MpiCall& call) {
  EventFacts facts;
  facts.name = names_.Of(call.function);
  facts.kind = EventKind::kMpiCall;
  facts.range = RangeAround(trace_, call.thread, call.start_ns);
  facts.size_bytes = std::max(call.sent_bytes, call.received_bytes);
  facts.result = call.error;
  facts.payload = Payload([&](ArgSink& sink) { args_.OfMpiCall(call, sink); });
  return facts;
}

EventFacts EventReader::OfState(const ThreadState& state) {
  constexpr EventKind kKinds[] = {EventKind::kThreadRunning, EventKind::kThreadPreempted, EventKind::kThreadBlocked};
  constexpr std::string_view kNames[] = {"running", "preempted", "blocked"};
  EventFacts facts;
  facts.name = names_.Of(kNames[static_cast<std::size_t>(state.state)]);
  facts.kind = kKinds[static_cast<std::size_t>(state.state)];
  facts.cpu = state.cpu == kNone ? 0 : state.cpu + 1;
  if (state.by != kNone) facts.other = NameOrNone(ThreadName(trace_, state.by));
  return facts;
}

EventFacts EventReader::OfSample(const CpuSample& sample) {
  EventFacts facts;
  facts.name = stacks_.InnermostName(sample.stack);
  facts.kind = EventKind::kCpuSample;
  facts.stack = stacks_.Of(sample.stack);
  facts.cpu = sample.cpu == kNone ? 0 : sample.cpu + 1;
  if (!IsOfRunning(sample)) facts.payload = NameOrNone("the thread waited");
  return facts;
}

uint32_t EventReader::NameOrNone(std::string_view text) { return text.empty() ? 0 : names_.Of(text) + 1; }

uint32_t EventReader::Shape(uint32_t shape) {
  if (shape_numbers_.empty()) shape_numbers_.assign(trace_.shapes.size(), kNone);
  uint32_t& number = shape_numbers_[shape];
  if (number == kNone) {
    number = static_cast<uint32_t>(shapes_.size());
    shapes_.push_back(shape);
  }
  return number;
}

template <class Write>
uint32_t EventReader::Payload(Write&& write) {
  if (payload_count_ >= kMostPayloads) return 0;
  PayloadText text;
  write(text);
  if (text.text().empty()) return 0;
  ++payload_count_;
  return names_.Of(CutMiddle(text.text(), kLongestPayloadBytes)) + 1;
}

}  // namespace gprof
