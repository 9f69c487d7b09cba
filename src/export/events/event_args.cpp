#include "export/events/event_args.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include "analysis/facts/operations/operations.h"
#include "base/text.h"

namespace gprof {
namespace {

using trace::PayloadType;

void AddPayloadNumber(uint64_t bits, PayloadType type, ArgSink& sink) {
  constexpr std::string_view kKey = "payload";
  switch (type) {
    case PayloadType::kUnsigned64:
      return sink.Uint(kKey, bits);
    case PayloadType::kSigned64:
      return sink.Int(kKey, static_cast<int64_t>(bits));
    case PayloadType::kDouble:
      return sink.Real(kKey, std::bit_cast<double>(bits));
    case PayloadType::kUnsigned32:
      return sink.Uint(kKey, static_cast<uint32_t>(bits));
    case PayloadType::kSigned32:
      return sink.Int(kKey, static_cast<int32_t>(static_cast<uint32_t>(bits)));
    case PayloadType::kFloat:
      return sink.Real(kKey, static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits))));
    case PayloadType::kNone:
    case PayloadType::kExtended:
      return;
  }
}

double BytesPerNs(const GpuOp& op) { return static_cast<double>(op.size_bytes) / static_cast<double>(op.DurationNs()); }

}  // namespace

EventArgs::EventArgs(const Trace& trace) : trace_(trace), stacks_(trace) {
  for (uint32_t i = 0; i < trace.payloads.size(); ++i) {
    const NvtxPayload& payload = trace.payloads[i];
    if (payload.range != kNone) of_range_.emplace_back(payload.range, i);
    if (payload.mark != kNone) of_mark_.emplace_back(payload.mark, i);
  }
  std::sort(of_range_.begin(), of_range_.end());
  std::sort(of_mark_.begin(), of_mark_.end());
}

void EventArgs::CountCorrelationsOn() {
  std::vector<uint64_t> largest(trace_.processes.size());
  const auto note = [&](uint32_t process, uint32_t correlation) {
    if (process != kNone) largest[process] = std::max<uint64_t>(largest[process], correlation);
  };
  for (const ApiCall& call : trace_.api_calls) note(call.process, call.correlation);
  for (const GpuOp& op : trace_.ops) note(op.process, trace_.CorrelationOf(op));
  uint64_t offset = 0;
  for (const uint64_t of_process : largest) {
    offsets_.push_back(offset);
    offset += of_process;
  }
}

void EventArgs::OfOp(const GpuOp& op, ArgSink& sink) const {
  const uint32_t call = OutermostCall(trace_, op.api);
  if (call != kNone && trace_.api_calls[call].range != kNone)
    sink.Uint("External id", ExternalId(trace_.api_calls[call].range));
  if (op.kind == OpKind::kKernel) sink.Uint("queued", 0);
  if (op.device != kNone) sink.Uint("device", trace_.devices[op.device].ordinal);
  if (op.stream != kNone) {
    sink.Uint("context", trace_.streams[op.stream].context);
    sink.Uint("stream", trace_.streams[op.stream].id);
  }
  sink.Uint("correlation", Correlation(op.process, trace_.CorrelationOf(op)));
  if (op.kind == OpKind::kKernel) OfKernel(op, sink);
  if (op.IsCopy() || op.kind == OpKind::kMemset) {
    sink.Uint("bytes", op.size_bytes);
    if (op.DurationNs() > 0) sink.Real("memory bandwidth (GB/s)", BytesPerNs(op));
  }
  if (op.IsCopy()) sink.Bool("asynchronous", op.is_async);
  if (op.peer_device != kNone) {
    sink.Uint("fromDevice", trace_.devices[op.SourceDevice()].ordinal);
    sink.Uint("inDevice", trace_.devices[op.device].ordinal);
    sink.Uint("toDevice", trace_.devices[op.DestinationDevice()].ordinal);
  }
  if (op.graph != 0) sink.Uint("graph id", op.graph);
  if (op.graph_node != 0) sink.Uint("graph node id", op.graph_node);
}

void EventArgs::OfKernel(const GpuOp& op, ArgSink& sink) const {
  if (op.shape == kNone) return;
  const trace::KernelShapeRecord& shape = trace_.shapes[op.shape];
  sink.Uint("registers per thread", shape.registers_per_thread);
  sink.Uint("shared memory", uint64_t{shape.static_shared_bytes} + shape.dynamic_shared_bytes);
  const uint32_t sm_count = op.device == kNone ? 0 : trace_.devices[op.device].properties.sm_count;
  if (sm_count != 0) {
    const double blocks = static_cast<double>(shape.grid_x) * shape.grid_y * shape.grid_z / sm_count;
    const double threads = static_cast<double>(shape.block_x) * shape.block_y * shape.block_z;
    constexpr double kWarp = 32;
    sink.Real("blocks per SM", blocks);
    sink.Real("warps per SM", blocks * threads / kWarp);
  }
  sink.Dim("grid", shape.grid_x, shape.grid_y, shape.grid_z);
  sink.Dim("block", shape.block_x, shape.block_y, shape.block_z);
  if (shape.cluster_x != 0) sink.Dim("cluster", shape.cluster_x, shape.cluster_y, shape.cluster_z);
}

void EventArgs::OfCall(uint32_t call, ArgSink& sink) {
  const ApiCall& c = trace_.api_calls[call];
  const uint32_t outermost = OutermostCall(trace_, call);
  if (trace_.api_calls[outermost].range != kNone)
    sink.Uint("External id", ExternalId(trace_.api_calls[outermost].range));
  sink.Uint("correlation", Correlation(c.process, c.correlation));
  if (c.result != 0) sink.Int("result", c.result);
  if (c.is_unfinished) sink.Bool("unfinished", true);
  OfStack(c.stack, sink);
}

void EventArgs::OfStack(uint32_t stack, ArgSink& sink) {
  if (stack != kNone) sink.Text("stack", stacks_(stack));
}

void EventArgs::OfWaker(const OsCall& call, ArgSink& sink) {
  if (call.waker_stack != kNone) sink.Text("released or woken from", stacks_(call.waker_stack));
}

template <class Event>
void EventArgs::OfNvtx(const Event& event, ArgSink& sink) const {
  if (event.domain != kNone && !trace_.Text(trace_.domains[event.domain].name).empty())
    sink.Text("domain", trace_.Text(trace_.domains[event.domain].name));
  if (event.category != 0) {
    const auto named = std::find_if(trace_.categories.begin(), trace_.categories.end(), [&](const NvtxCategory& c) {
      return c.domain == event.domain && c.id == event.category;
    });
    sink.Text("category", named == trace_.categories.end() ? std::to_string(event.category) : trace_.Text(named->name));
  }
  constexpr uint32_t kRgb = 0xFFFFFF;
  if (event.color != 0) sink.Text("color", fmt::format("#{:06x}", event.color & kRgb));
  AddPayloadNumber(event.payload, event.payload_type, sink);
}

void EventArgs::OfRange(uint32_t range, ArgSink& sink) const {
  const NvtxRange& r = trace_.ranges[range];
  sink.Uint("External id", ExternalId(range));
  OfNvtx(r, sink);
  OfAttached(of_range_, range, sink);
  if (r.end_thread != r.thread && r.end_thread != kNone) sink.Uint("ended by thread", trace_.threads[r.end_thread].tid);
  if (r.is_open) sink.Bool("never ended", true);
  if (r.is_cut) sink.Bool("cut by the capture", true);
}

void EventArgs::OfMark(uint32_t mark, ArgSink& sink) const {
  OfNvtx(trace_.marks[mark], sink);
  OfAttached(of_mark_, mark, sink);
}

void EventArgs::OfOsCall(const OsCall& call, ArgSink& sink) {
  if (call.path != NameId{}) sink.Text("path", trace_.Text(call.path));
  if (call.size_bytes != 0) sink.Uint("bytes", call.size_bytes);
  if (call.result != 0) sink.Int("result", call.result);
  if (call.error != 0) sink.Uint("errno", call.error);
  if (call.other_thread != kNone) sink.Uint("waited for thread", trace_.threads[call.other_thread].tid);
  OfStack(call.stack, sink);
  OfWaker(call, sink);
  if (call.is_unfinished) sink.Bool("unfinished", true);
}

void EventArgs::OfMpiCall(const MpiCall& call, ArgSink& sink) {
  if (call.communicator != 0) sink.Uint("communicator", call.communicator);
  if (call.communicator_size != 0) sink.Uint("ranks", call.communicator_size);
  if (call.peer >= 0) sink.Int("peer", call.peer);
  if (call.tag >= 0) sink.Int("tag", call.tag);
  if (call.sent_bytes != 0) sink.Uint("sent bytes", call.sent_bytes);
  if (call.received_bytes != 0) sink.Uint("received bytes", call.received_bytes);
  if (call.error != 0) sink.Uint("error", call.error);
  if (call.is_unfinished) sink.Bool("unfinished", true);
}

void EventArgs::OfCollective(const Collective& operation, ArgSink& sink) {
  sink.Uint("bytes", operation.size_bytes);
  sink.Uint("communicator", operation.communicator);
  if (operation.communicator_name != NameId{}) sink.Text("name", trace_.Text(operation.communicator_name));
  sink.Uint("sequence", operation.sequence);
  if (operation.rank >= 0) sink.Int("rank", operation.rank);
  if (operation.ranks != 0) sink.Uint("ranks", operation.ranks);
  if (operation.peer >= 0) sink.Int("peer", operation.peer);
  if (operation.datatype != NameId{}) sink.Text("type", trace_.Text(operation.datatype));
  if (operation.algorithm != NameId{}) sink.Text("algorithm", trace_.Text(operation.algorithm));
  if (operation.protocol != NameId{}) sink.Text("protocol", trace_.Text(operation.protocol));
  if (operation.channels != 0) sink.Uint("channels", operation.channels);
  if (operation.is_captured) sink.Bool("captured into a graph", true);
}

void EventArgs::OfDirective(const Directive& directive, ArgSink& sink) {
  sink.Text("model", trace_.Text(directive.model));
  if (directive.name != NameId{}) sink.Text("name", trace_.Text(directive.name));
  if (directive.line != 0) sink.Uint("line", directive.line);
  if (directive.region != 0) sink.Uint("region", directive.region);
  if (directive.threads != 0) sink.Uint("threads", directive.threads);
  if (directive.device >= 0) sink.Int("device", directive.device);
  if (directive.size_bytes != 0) sink.Uint("bytes", directive.size_bytes);
}

void EventArgs::OfSample(const CpuSample& sample, ArgSink& sink) {
  OfStack(sample.stack, sink);
  if (sample.cpu != kNone) sink.Uint("cpu", sample.cpu);
  if (sample.weight_ns != 0) sink.Int("stands for ns", sample.weight_ns);
}

void EventArgs::OfAttached(const std::vector<std::pair<uint32_t, uint32_t>>& index, uint32_t event,
                           ArgSink& sink) const {
  auto at = std::lower_bound(index.begin(), index.end(), std::pair<uint32_t, uint32_t>{event, 0});
  for (; at != index.end() && at->first == event; ++at) OfPayload(at->second, sink);
}

void EventArgs::OfPayload(uint32_t payload, ArgSink& sink) const {
  const NvtxPayload& p = trace_.payloads[payload];
  for (uint32_t i = p.first_value; i < p.last_value; ++i) {
    const PayloadValue& value = trace_.payload_values[i];
    // Names of fields are the program's own, and must not pass for ours.
    const std::string key = "payload." + Utf8(trace_.Text(value.key));
    const std::string_view text = trace_.Text(value.text);
    if (value.is_integer && text.empty()) {
      sink.Int(key, value.integer);
    } else {
      sink.Text(key, text);
    }
  }
}

}  // namespace gprof
