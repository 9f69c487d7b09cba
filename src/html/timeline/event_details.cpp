#include "html/timeline/event_details.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "analysis/facts/host/os_call_kinds.h"
#include "analysis/facts/operations/operations.h"
#include "analysis/facts/recording/overhead_kinds.h"
#include "analysis/result/display_names.h"
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

EventDetails EventReader::Read(EventSource source, uint32_t item) {
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
    case EventSource::kRequestSlice:
      return OfRequestSlice(timeline_.request_slices[item]);
    case EventSource::kNothing:
      break;
  }
  return {};
}

EventDetails EventReader::OfOp(const GpuOp& op) {
  EventDetails details;
  details.name = names_.Of(op);
  details.kind = KindOf(op);
  details.shape = op.shape == kNone ? 0 : Shape(op.shape) + 1;
  details.call = OutermostCall(trace_, op.api);
  details.size_bytes = op.size_bytes;
  if (op.IsCopy() || op.kind == OpKind::kMemset) {
    constexpr uint32_t kKinds = 16;
    details.memory = static_cast<uint32_t>(op.source_memory) * kKinds + static_cast<uint32_t>(op.destination_memory);
  }
  details.correlation = trace_.CorrelationOf(op);
  return details;
}

EventDetails EventReader::OfCall(uint32_t index) {
  const ApiCall& call = trace_.api_calls[index];
  EventDetails details;
  details.name = names_.Of(call.function);
  details.kind = KindOf(call.api_class);
  details.range = call.range;
  details.correlation = call.correlation;
  details.result = static_cast<uint32_t>(call.result);
  details.stack = stacks_.Of(call.stack);
  return details;
}

EventDetails EventReader::OfRange(uint32_t index) {
  const NvtxRange& range = trace_.ranges[index];
  EventDetails details;
  details.name = names_.Of(range.name);
  details.kind = range.is_push_pop ? EventKind::kNvtxRange : EventKind::kNvtxStartEnd;
  details.color = ColorValue(range.color);
  details.payload = Payload([&](ArgSink& sink) { args_.OfRange(index, sink); });
  return details;
}

EventDetails EventReader::OfMark(uint32_t index) {
  const NvtxMark& mark = trace_.marks[index];
  EventDetails details;
  details.name = names_.Of(mark.name);
  details.kind = EventKind::kNvtxMark;
  details.color = ColorValue(mark.color);
  details.payload = Payload([&](ArgSink& sink) { args_.OfMark(index, sink); });
  return details;
}

EventDetails EventReader::OfIdlePart(const IdlePart& part) {
  EventDetails details;
  details.name = names_.Of(InfoOf(part.cause).name);
  details.kind = EventKind::kGap;
  details.next = part.next;
  details.blame_call = OutermostCall(trace_, part.call);
  details.blame_range = part.range;
  if (part.function != NameId{}) details.function = names_.Of(part.function) + 1;
  return details;
}

EventDetails EventReader::OfOverhead(const Overhead& overhead) {
  EventDetails details;
  details.name = names_.Of(OverheadName(overhead.kind));
  details.kind = EventKind::kOverhead;
  return details;
}

EventDetails EventReader::OfOsCall(const OsCall& call) {
  const OsCallKind kind = KindOf(call);
  EventDetails details;
  details.name = names_.Of(call.function);
  details.kind = EventKind::kOsCall;
  details.range = RangeAround(trace_, call.thread, call.start_ns);
  details.size_bytes = call.size_bytes;
  details.result = call.error;
  details.stack = stacks_.Of(call.stack);
  details.object = NameOrNone(ObjectName(trace_, kind));
  details.other = NameOrNone(HolderName(trace_, kind));
  details.payload = Payload([&](ArgSink& sink) { args_.OfWaker(call, sink); });
  if (call.is_unfinished) details.payload = NameOrNone("the process ended inside it");
  return details;
}

EventDetails EventReader::OfMpiCall(const MpiCall& call) {
  EventDetails details;
  details.name = names_.Of(call.function);
  details.kind = EventKind::kMpiCall;
  details.range = RangeAround(trace_, call.thread, call.start_ns);
  details.size_bytes = std::max(call.sent_bytes, call.received_bytes);
  details.result = call.error;
  details.payload = Payload([&](ArgSink& sink) { args_.OfMpiCall(call, sink); });
  return details;
}

EventDetails EventReader::OfState(const ThreadState& state) {
  constexpr EventKind kKinds[] = {EventKind::kThreadRunning, EventKind::kThreadPreempted, EventKind::kThreadBlocked};
  constexpr std::string_view kNames[] = {"running", "preempted", "blocked"};
  EventDetails details;
  details.name = names_.Of(kNames[static_cast<std::size_t>(state.state)]);
  details.kind = kKinds[static_cast<std::size_t>(state.state)];
  details.cpu = state.cpu == kNone ? 0 : state.cpu + 1;
  if (state.by != kNone) details.other = NameOrNone(ThreadName(trace_, state.by));
  return details;
}

EventDetails EventReader::OfRequestSlice(const NamedSlice& named) {
  constexpr EventKind kKinds[] = {EventKind::kRequest, EventKind::kRequestQueue, EventKind::kRequestPrefill,
                                  EventKind::kRequestDecode, EventKind::kEngineStep};
  EventDetails details;
  details.name = names_.Of(named.name);
  details.kind = kKinds[static_cast<std::size_t>(named.slice.kind)];
  details.payload = NameOrNone(named.detail);
  return details;
}

EventDetails EventReader::OfSample(const CpuSample& sample) {
  EventDetails details;
  details.name = stacks_.InnermostName(sample.stack);
  details.kind = EventKind::kCpuSample;
  details.stack = stacks_.Of(sample.stack);
  details.cpu = sample.cpu == kNone ? 0 : sample.cpu + 1;
  if (!IsOfRunning(sample)) details.payload = NameOrNone("the thread waited");
  return details;
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
