#include "python/layouts.h"

#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

namespace gprof::python {
namespace {

template <class T>
std::string FormatOf() {
  if constexpr (std::is_same_v<T, bool>) {
    return "?";
  } else if constexpr (std::is_same_v<T, NameId>) {
    return "<u4";
  } else if constexpr (std::is_enum_v<T>) {
    return FormatOf<std::underlying_type_t<T>>();
  } else {
    static_assert(std::is_integral_v<T>);
    return (std::is_signed_v<T> ? "<i" : "<u") + std::to_string(sizeof(T));
  }
}

// Collects the fields of R: l("start_ns", &R::start_ns)("end_ns", …).
template <class R>
class Layout {
 public:
  template <class T>
  Layout& operator()(std::string_view name, T R::*member) {
    const auto* field = reinterpret_cast<const unsigned char*>(&(sample_.*member));
    const auto* record = reinterpret_cast<const unsigned char*>(&sample_);
    fields_.push_back({std::string(name), FormatOf<T>(), static_cast<std::size_t>(field - record)});
    return *this;
  }
  std::vector<Field> fields() const { return fields_; }

 private:
  R sample_{};
  std::vector<Field> fields_;
};

template <class R>
void Describe(Layout<R>& l);

// One name and one member each, several on a line: the formatter would give every link of a chain a line.
// clang-format off
template <>
void Describe<Process>(Layout<Process>& l) {
  l("pid", &Process::pid)("parent_pid", &Process::parent_pid)("image", &Process::image)
   ("start_ns", &Process::start_ns)("end_ns", &Process::end_ns)("name", &Process::name)
   ("command_line", &Process::command_line)("host", &Process::host)("tracer_version", &Process::tracer_version)
   ("cupti_path", &Process::cupti_path)("cupti_version", &Process::cupti_version)
   ("driver_version", &Process::driver_version)("runtime_version", &Process::runtime_version)("rank", &Process::rank)
   ("local_rank", &Process::local_rank)("world_size", &Process::world_size)("rank_source", &Process::rank_source)
   ("capture_mode", &Process::capture_mode)("gpu_complete_until_ns", &Process::gpu_complete_until_ns)
   ("is_forked", &Process::is_forked)("has_end", &Process::has_end)("end_reason", &Process::end_reason);
}

template <>
void Describe<Capture>(Layout<Capture>& l) {
  l("start_ns", &Capture::start_ns)("end_ns", &Capture::end_ns)("process", &Capture::process)
   ("number", &Capture::number)("trigger", &Capture::trigger)("end_trigger", &Capture::end_trigger)
   ("is_open", &Capture::is_open);
}

template <>
void Describe<Thread>(Layout<Thread>& l) {
  l("process", &Thread::process)("tid", &Thread::tid)("name", &Thread::name);
}

template <>
void Describe<Device>(Layout<Device>& l) {
  l("process", &Device::process)("ordinal", &Device::ordinal)("name", &Device::name)("uuid", &Device::uuid);
}

template <>
void Describe<Context>(Layout<Context>& l) {
  l("process", &Context::process)("device", &Context::device)("id", &Context::id)
   ("null_stream", &Context::null_stream);
}

template <>
void Describe<Stream>(Layout<Stream>& l) {
  l("process", &Stream::process)("device", &Stream::device)("context", &Stream::context)("id", &Stream::id)
   ("priority", &Stream::priority)("handle", &Stream::handle)("created_ns", &Stream::created_ns)
   ("name", &Stream::name)("names_given", &Stream::names_given)("is_default", &Stream::is_default)
   ("is_created", &Stream::is_created)("is_non_blocking", &Stream::is_non_blocking);
}

template <>
void Describe<GpuOp>(Layout<GpuOp>& l) {
  l("start_ns", &GpuOp::start_ns)("end_ns", &GpuOp::end_ns)("size_bytes", &GpuOp::size_bytes)
   ("graph_node", &GpuOp::graph_node)("graph", &GpuOp::graph)("device", &GpuOp::device)("stream", &GpuOp::stream)
   ("process", &GpuOp::process)("api", &GpuOp::api)("correlation", &GpuOp::correlation)("name", &GpuOp::name)
   ("shape", &GpuOp::shape)("kind", &GpuOp::kind)("copy_kind", &GpuOp::copy_kind)
   ("source_memory", &GpuOp::source_memory)("destination_memory", &GpuOp::destination_memory)
   ("peer_device", &GpuOp::peer_device)("node", &GpuOp::node)("is_async", &GpuOp::is_async)
   ("is_from_before", &GpuOp::is_from_before)("is_from_peer", &GpuOp::is_from_peer);
}

template <>
void Describe<ApiCall>(Layout<ApiCall>& l) {
  l("start_ns", &ApiCall::start_ns)("end_ns", &ApiCall::end_ns)("thread", &ApiCall::thread)
   ("process", &ApiCall::process)("correlation", &ApiCall::correlation)("parent", &ApiCall::parent)
   ("range", &ApiCall::range)("function", &ApiCall::function)("result", &ApiCall::result)
   ("op_count", &ApiCall::op_count)("api_class", &ApiCall::api_class)("domain", &ApiCall::domain)
   ("is_unfinished", &ApiCall::is_unfinished);
}

template <>
void Describe<NvtxRange>(Layout<NvtxRange>& l) {
  l("start_ns", &NvtxRange::start_ns)("end_ns", &NvtxRange::end_ns)("thread", &NvtxRange::thread)
   ("end_thread", &NvtxRange::end_thread)("parent", &NvtxRange::parent)("domain", &NvtxRange::domain)
   ("name", &NvtxRange::name)("path", &NvtxRange::path)("category", &NvtxRange::category)("color", &NvtxRange::color)
   ("payload", &NvtxRange::payload)("payload_type", &NvtxRange::payload_type)("depth", &NvtxRange::depth)
   ("is_push_pop", &NvtxRange::is_push_pop)("is_open", &NvtxRange::is_open)("is_cut", &NvtxRange::is_cut);
}

template <>
void Describe<NvtxMark>(Layout<NvtxMark>& l) {
  l("time_ns", &NvtxMark::time_ns)("payload", &NvtxMark::payload)("thread", &NvtxMark::thread)
   ("domain", &NvtxMark::domain)("name", &NvtxMark::name)("category", &NvtxMark::category)("color", &NvtxMark::color)
   ("payload_type", &NvtxMark::payload_type);
}

template <>
void Describe<NvtxDomain>(Layout<NvtxDomain>& l) {
  l("process", &NvtxDomain::process)("id", &NvtxDomain::id)("name", &NvtxDomain::name);
}

template <>
void Describe<GraphNode>(Layout<GraphNode>& l) {
  l("id", &GraphNode::id)("original_id", &GraphNode::original_id)("time_ns", &GraphNode::time_ns)
   ("process", &GraphNode::process)("thread", &GraphNode::thread)("graph", &GraphNode::graph)
   ("source", &GraphNode::source)("api", &GraphNode::api)("range", &GraphNode::range)
   ("node_type", &GraphNode::node_type);
}

template <>
void Describe<EventRecord>(Layout<EventRecord>& l) {
  l("time_ns", &EventRecord::time_ns)("event", &EventRecord::event)("process", &EventRecord::process)
   ("thread", &EventRecord::thread)("api", &EventRecord::api)("stream", &EventRecord::stream);
}

template <>
void Describe<Sync>(Layout<Sync>& l) {
  l("start_ns", &Sync::start_ns)("end_ns", &Sync::end_ns)("thread", &Sync::thread)("process", &Sync::process)
   ("api", &Sync::api)("stream", &Sync::stream)("event", &Sync::event)("kind", &Sync::kind);
}

template <>
void Describe<Overhead>(Layout<Overhead>& l) {
  l("start_ns", &Overhead::start_ns)("end_ns", &Overhead::end_ns)("process", &Overhead::process)
   ("thread", &Overhead::thread)("kind", &Overhead::kind);
}

template <>
void Describe<Jit>(Layout<Jit>& l) {
  l("start_ns", &Jit::start_ns)("end_ns", &Jit::end_ns)("process", &Jit::process)("device", &Jit::device)
   ("thread", &Jit::thread)("entry_kind", &Jit::entry_kind)("operation", &Jit::operation)
   ("cache_bytes", &Jit::cache_bytes);
}

template <>
void Describe<MemoryEvent>(Layout<MemoryEvent>& l) {
  l("time_ns", &MemoryEvent::time_ns)("address", &MemoryEvent::address)("size_bytes", &MemoryEvent::size_bytes)
   ("pool", &MemoryEvent::pool)("process", &MemoryEvent::process)("device", &MemoryEvent::device)
   ("stream", &MemoryEvent::stream)("api", &MemoryEvent::api)("operation", &MemoryEvent::operation)
   ("memory", &MemoryEvent::memory)("is_async", &MemoryEvent::is_async);
}

template <>
void Describe<ManagedMemory>(Layout<ManagedMemory>& l) {
  l("start_ns", &ManagedMemory::start_ns)("end_ns", &ManagedMemory::end_ns)("value", &ManagedMemory::value)
   ("address", &ManagedMemory::address)("process", &ManagedMemory::process)("source", &ManagedMemory::source)
   ("destination", &ManagedMemory::destination)("stream", &ManagedMemory::stream)("flags", &ManagedMemory::flags)
   ("kind", &ManagedMemory::kind);
}

template <>
void Describe<MemoryPoolEvent>(Layout<MemoryPoolEvent>& l) {
  l("time_ns", &MemoryPoolEvent::time_ns)("pool", &MemoryPoolEvent::pool)("size_bytes", &MemoryPoolEvent::size_bytes)
   ("used_bytes", &MemoryPoolEvent::used_bytes)("release_threshold_bytes", &MemoryPoolEvent::release_threshold_bytes)
   ("keep_bytes", &MemoryPoolEvent::keep_bytes)("process", &MemoryPoolEvent::process)
   ("device", &MemoryPoolEvent::device)("api", &MemoryPoolEvent::api)("operation", &MemoryPoolEvent::operation)
   ("is_imported", &MemoryPoolEvent::is_imported);
}
// clang-format on

template <class R>
RecordView View(std::string_view name, const std::vector<R>& records) {
  Layout<R> layout;
  Describe<R>(layout);
  return {std::string(name), layout.fields(), sizeof(R), records.size(), records.data(), nullptr};
}

template <class List>
auto Unpacked(const List& packed) {
  return std::make_shared<std::vector<typename List::value_type>>(packed.begin(), packed.end());
}

template <class R>
RecordView OwnedView(std::string_view name, const std::shared_ptr<std::vector<R>>& records) {
  RecordView view = View(name, std::as_const(*records));
  view.owner = records;
  return view;
}

// The correlation of an operation whose call is known as well.
RecordView ViewOfOps(const Trace& trace) {
  const auto ops = Unpacked(trace.ops);
  for (GpuOp& op : *ops) op.correlation = trace.CorrelationOf(op);
  return OwnedView("ops", ops);
}

}  // namespace

std::vector<std::string> PackedNames() { return {"ops", "api_calls", "ranges"}; }

RecordView Unpack(const Trace& trace, const std::string& name) {
  if (name == "ops") return ViewOfOps(trace);
  return name == "ranges" ? OwnedView(name, Unpacked(trace.ranges)) : OwnedView(name, Unpacked(trace.api_calls));
}

std::vector<RecordView> RecordViews(const Trace& trace) {
  return {View("processes", trace.processes),
          View("captures", trace.captures),
          View("threads", trace.threads),
          View("devices", trace.devices),
          View("contexts", trace.contexts),
          View("streams", trace.streams),
          View("marks", trace.marks),
          View("domains", trace.domains),
          View("graph_nodes", trace.graph_nodes),
          View("event_records", trace.event_records),
          View("syncs", trace.syncs),
          View("overheads", trace.overheads),
          View("jits", trace.jits),
          View("memory_events", trace.memory_events),
          View("managed_memory", trace.managed_memory),
          View("memory_pools", trace.memory_pools)};
}

}  // namespace gprof::python
