#include "trace/builder/builder.h"

#include <algorithm>
#include <utility>

#include "base/saturate.h"
#include "trace/join/join.h"
#include "trace/load/fill_pass.h"
#include "trace/load/huge_pages.h"
#include "trace/model/saturating_time.h"
#include "trace/text/enum_or.h"

namespace gprof {
namespace {

trace::CopyKind ToCopyKind(uint8_t v) { return EnumOr(v, trace::CopyKind::kPeerToPeer, trace::CopyKind::kUnknown); }
trace::CaptureTrigger ToTrigger(uint8_t v) {
  return v == 0 ? trace::CaptureTrigger::kBegin
                : EnumOr(v, trace::CaptureTrigger::kProfiler, trace::CaptureTrigger::kCommand);
}

template <class T>
void UpdateIfSet(T* field, T value) {
  if (value != T{}) *field = value;
}

}  // namespace

void TraceBuilder::Reserve(const RecordCounts& counts) {
  const auto count = [&](trace::RecordKind kind) { return counts[static_cast<std::size_t>(kind)]; };
  using trace::RecordKind;
  ReserveHuge(unjoined_.trace.api_calls.items(), count(RecordKind::kApi));
  ReserveHuge(unjoined_.trace.ops.items(), count(RecordKind::kKernel) + count(RecordKind::kMemcpy) +
                                               count(RecordKind::kMemset) + count(RecordKind::kPeerCopy) +
                                               count(RecordKind::kGraphLaunch));
  ReserveHuge(unjoined_.trace.syncs, count(RecordKind::kSync));
  ReserveHuge(unjoined_.trace.memory_events, count(RecordKind::kMemory));
  ReserveHuge(unjoined_.nvtx_events.items(), count(RecordKind::kNvtx));
  unjoined_.trace.graph_nodes.reserve(count(RecordKind::kGraphNode));
}

void TraceBuilder::BeginChunk(const trace::ChunkHeader& header) {
  const bool is_collector = (header.flags & trace::kChunkCollector) != 0;
  const uint32_t next = is_collector ? kCollector + static_cast<uint32_t>(unjoined_.collector_hosts.size())
                                     : static_cast<uint32_t>(unjoined_.trace.processes.size());
  const auto [at, is_new] = (is_collector ? collectors_ : processes_).try_emplace(header.process, next);
  if (process_ != at->second) recent_ops_.Clear(), recent_calls_.Clear();
  process_ = at->second;
  if (is_new) (is_collector ? unjoined_.collector_hosts : unjoined_.hosts).push_back(header.process.host);
  if (is_new && !is_collector) {
    Process p;
    p.pid = header.process.pid;
    p.image = header.process.image;
    unjoined_.trace.processes.push_back(p);
    unjoined_.correlations.emplace_back();
    unjoined_.end_times_ns.push_back(0);
  }
  times_ = {};
  cached_thread_ = kNone;
}

void TraceBuilder::EndChunk() {
  if (!IsOfCollector()) unjoined_.Touch(process_, times_);
}

bool TraceBuilder::Fill(std::vector<BulkChunk> bulk, DamagedBlocks* damaged) {
  NumberThings(unjoined_);
  has_numbers_ = true;
  return FillBulk(std::move(bulk), unjoined_, damaged);
}

Trace TraceBuilder::Finish(const TraceHealth& framing) {
  if (!has_numbers_) NumberThings(unjoined_);
  unjoined_.trace.health = [&] {
    TraceHealth health = framing;
    health.lost_records = unjoined_.trace.health.lost_records;
    health.bad_times = unjoined_.trace.health.bad_times;
    health.missing_strings = unjoined_.trace.health.missing_strings;
    return health;
  }();
  return JoinTrace(std::move(unjoined_));
}

uint32_t TraceBuilder::ThreadIndex(uint32_t tid) {
  if (cached_thread_ != kNone && cached_tid_ == tid) return cached_thread_;
  cached_tid_ = tid;
  return cached_thread_ = unjoined_.ThreadIndex(process_, tid);
}

uint32_t TraceBuilder::StreamOf(uint32_t context, uint32_t stream, std::vector<LateStream>* late, std::size_t event) {
  if (stream == 0) return kNone;
  if (context != 0) return unjoined_.StreamIndex(process_, context, stream);
  late->push_back({static_cast<uint32_t>(event), process_, stream});
  return kNone;
}

uint32_t TraceBuilder::ShapeIndex(trace::ShapeId shape) {
  if (shape.value == 0) return kNone;
  const uint32_t known = unjoined_.shape_ids.Find(process_, shape.value);
  if (known != kNone) return known;
  unjoined_.late_shapes.push_back({process_, shape.value});
  return kLateShape + static_cast<uint32_t>(unjoined_.late_shapes.size() - 1);
}

// ---- dictionary ----

void TraceBuilder::Add(const trace::StringRecord& r) {
  if (r.id == 0) return;
  uint32_t& entry = unjoined_.string_ids(process_, r.id);
  const auto& missing = unjoined_.missing_names;
  const bool is_missing = entry != kNone && std::binary_search(missing.begin(), missing.end(), entry);
  if (entry != kNone && !is_missing) return;  // chunks repeat what they use
  const NameId name = unjoined_.names.Intern(r.text.View());
  if (is_missing) unjoined_.late_names.push_back({NameId{entry}, name});
  entry = name.value;
}

void TraceBuilder::Add(const trace::KernelShapeRecord& r) {
  uint32_t& entry = unjoined_.shape_ids(process_, r.id);
  if (r.id == 0 || entry != kNone) return;
  entry = static_cast<uint32_t>(unjoined_.trace.shapes.size());
  unjoined_.trace.shapes.push_back(r);
}

// ---- who and where ----

void TraceBuilder::Add(const trace::ProcessRecord& r) {
  Process& p = unjoined_.trace.processes[process_];
  Touch(TimeNs(r.start_ns), TimeNs(r.start_ns));
  // A process may say it again when it knows more: the driver is found later than the process starts.
  UpdateIfSet(&p.pid, r.pid);
  UpdateIfSet(&p.parent_pid, r.parent_pid);
  UpdateIfSet(&p.name, Name(r.name));
  UpdateIfSet(&p.command_line, Name(r.command_line));
  UpdateIfSet(&p.host, Name(r.host));
  UpdateIfSet(&p.tracer_version, Name(r.tracer_version));
  UpdateIfSet(&p.cupti_path, Name(r.cupti_path));
  UpdateIfSet(&p.cupti_version, r.cupti_version);
  UpdateIfSet(&p.driver_version, r.driver_version);
  UpdateIfSet(&p.runtime_version, r.runtime_version);
  p.is_forked = p.is_forked || r.is_forked != 0;
  if (r.rank >= 0) p.rank = r.rank;
  if (r.local_rank >= 0) p.local_rank = r.local_rank;
  UpdateIfSet(&p.world_size, r.world_size);
  UpdateIfSet(&p.rank_source, Name(r.rank_source));
  UpdateIfSet(&p.capture_mode, Name(r.capture_mode));
}

void TraceBuilder::Add(const trace::ThreadRecord& r) {
  const NameId name = Name(r.name);
  UpdateIfSet(&unjoined_.trace.threads[ThreadIndex(r.tid)].name, name);
}

void TraceBuilder::Add(const trace::DeviceRecord& r) {
  DeviceSlot& slot = unjoined_.device_slots[unjoined_.SlotIndex(process_, r.device)];
  slot.is_described = true;
  slot.properties = r;
  slot.name = Name(r.name);
  slot.uuid = Name(r.uuid);
}

void TraceBuilder::Add(const trace::ContextRecord& r) {
  Context& context = unjoined_.trace.contexts[unjoined_.ContextIndex(process_, r.context)];
  context.device = unjoined_.SlotIndex(process_, r.device);
  context.null_stream = r.null_stream;
}

void TraceBuilder::Add(const trace::StreamRecord& r) {
  Stream& s = unjoined_.trace.streams[unjoined_.StreamIndex(process_, r.context, r.stream)];
  // Two records say one half each: the callback of its creation knows handle and time, CUPTI's own record priority and
  // flags. The driver's internal streams have only the latter.
  if (r.priority != 0) s.priority = r.priority;
  if (r.is_non_blocking != 0) s.is_non_blocking = true;
  if (r.handle != 0) s.handle = r.handle;
  if (r.created_ns != 0) s.created_ns = TimeNs(r.created_ns);
  s.is_created = s.is_created || r.handle != 0 || r.created_ns != 0;
  Touch(s.created_ns, s.created_ns);
}

void TraceBuilder::Add(const trace::ClockRecord& r) {
  unjoined_.trace.clocks.push_back({process_, r});
  Touch(TimeNs(r.monotonic_ns), TimeNs(r.monotonic_ns));
}

// ---- what the program did ----

uint32_t TraceBuilder::TraitsOf(const trace::ApiRecord& r) {
  PackedCalls::Traits f;
  f.thread = ThreadIndex(r.tid);
  f.process = process_;
  f.function = Name(r.function);
  f.result = r.result;
  f.domain = r.domain == static_cast<uint8_t>(trace::ApiDomain::kDriver) ? trace::ApiDomain::kDriver
                                                                         : trace::ApiDomain::kRuntime;
  f.is_unfinished = r.is_unfinished != 0 ? 1 : 0;
  if (r.stack != 0) f.stack = r.stack;
  return unjoined_.trace.api_calls.Intern(f);
}

void TraceBuilder::Add(const trace::ApiRecord& r) {
  const int64_t start_ns = TimeNs(r.start_ns), end_ns = EndNs(r.start_ns, r.duration_ns);
  Touch(start_ns, end_ns);
  if (r.correlation != 0) unjoined_.correlations[process_].Add({r.correlation, r.correlation, 1});
  uint32_t& recent = recent_calls_(
      {uint64_t{r.tid} << 32 | r.function.value,
       uint64_t{static_cast<uint32_t>(r.result)} << 32 | uint64_t{r.domain} << 8 | r.is_unfinished, r.stack});
  if (recent == kNone) recent = TraitsOf(r);
  unjoined_.trace.api_calls.Add(start_ns, end_ns, recent, r.correlation);
}

// What all kinds of operations have in common.
template <class R>
PackedOps::Traits TraceBuilder::TraitsOfAny(const R& r, OpKind kind) {
  PackedOps::Traits f;
  f.device = unjoined_.SlotIndex(process_, r.device);
  f.stream = unjoined_.StreamIndex(process_, r.context, r.stream);
  f.process = process_;
  f.graph = r.graph;
  if constexpr (requires { r.graph_node; }) f.graph_node = r.graph_node;
  if constexpr (requires { r.size_bytes; }) f.size_bytes = r.size_bytes;
  f.is_async = 1;
  if constexpr (requires { r.is_async; }) f.is_async = r.is_async != 0 ? 1 : 0;
  f.kind = kind;
  Stream& stream = unjoined_.trace.streams[f.stream];
  if (stream.device == kNone) stream.device = f.device;
  return f;
}

uint32_t TraceBuilder::TraitsOf(const trace::KernelRecord& r) {
  PackedOps::Traits f = TraitsOfAny(r, OpKind::kKernel);
  f.name = Name(r.name);
  f.shape = ShapeIndex(r.shape);
  return unjoined_.trace.ops.Intern(f);
}

uint32_t TraceBuilder::TraitsOf(const trace::MemcpyRecord& r) {
  PackedOps::Traits f = TraitsOfAny(r, OpKind::kMemcpy);
  f.copy_kind = ToCopyKind(r.copy_kind);
  f.source_memory = ToMemoryKind(r.source_memory);
  f.destination_memory = ToMemoryKind(r.destination_memory);
  return unjoined_.trace.ops.Intern(f);
}

uint32_t TraceBuilder::TraitsOf(const trace::PeerCopyRecord& r) {
  PackedOps::Traits f = TraitsOfAny(r, OpKind::kPeerCopy);
  f.copy_kind = trace::CopyKind::kPeerToPeer;
  f.source_memory = ToMemoryKind(r.source_memory);
  f.destination_memory = ToMemoryKind(r.destination_memory);
  f.is_from_peer = r.source_device != r.device ? 1 : 0;
  f.peer_device = unjoined_.SlotIndex(process_, f.is_from_peer != 0 ? r.source_device : r.destination_device);
  return unjoined_.trace.ops.Intern(f);
}

uint32_t TraceBuilder::TraitsOf(const trace::MemsetRecord& r) {
  PackedOps::Traits f = TraitsOfAny(r, OpKind::kMemset);
  f.destination_memory = ToMemoryKind(r.memory);
  return unjoined_.trace.ops.Intern(f);
}

uint32_t TraceBuilder::TraitsOf(const trace::GraphLaunchRecord& r) {
  return unjoined_.trace.ops.Intern(TraitsOfAny(r, OpKind::kGraph));
}

// `what`, `kinds` and `peer` are what differs between operations of the kind, beside graph and stream.
template <class R>
uint32_t& TraceBuilder::RecentOp(const R& r, OpKind kind, uint64_t what, uint32_t kinds, uint64_t peer) {
  uint64_t graph_node = 0;
  if constexpr (requires { r.graph_node; }) graph_node = r.graph_node;
  return recent_ops_({uint64_t{r.context} << 32 | r.stream, uint64_t{r.device} << 32 | r.graph, graph_node, what,
                      uint64_t{static_cast<uint8_t>(kind)} << 32 | kinds, peer});
}

uint32_t TraceBuilder::RecentTraitsOf(const trace::KernelRecord& r) {
  uint32_t& recent = RecentOp(r, OpKind::kKernel, WhatOf(r), 0, 0);
  if (recent == kNone) recent = TraitsOf(r);
  return recent;
}

// False: the operation has no usable times and is left out. Its traits are asked for where nothing like it was seen
// lately.
template <class R>
bool TraceBuilder::AddOp(const R& r, OpKind kind, uint64_t what, uint32_t kinds, uint64_t peer) {
  if (!HasTimes(r.start_ns, r.duration_ns)) {
    ++unjoined_.trace.health.bad_times;
    return false;
  }
  uint32_t& recent = RecentOp(r, kind, what, kinds, peer);
  if (recent == kNone) recent = TraitsOf(r);
  const int64_t start_ns = TimeNs(r.start_ns), end_ns = EndNs(r.start_ns, r.duration_ns);
  Touch(start_ns, end_ns);
  unjoined_.trace.ops.Add(start_ns, end_ns, recent, r.correlation);
  return true;
}

void TraceBuilder::Add(const trace::KernelRecord& r) {
  const bool is_added = AddOp(r, OpKind::kKernel, WhatOf(r), 0, 0);
  if (is_added && IsLaunchedByDevice(r.is_device_launched, r.correlation)) ++unjoined_.launched_by_device;
}

void TraceBuilder::Add(const trace::MemcpyRecord& r) {
  const uint32_t kinds =
      uint32_t{r.copy_kind} << 24 | uint32_t{r.source_memory} << 16 | uint32_t{r.destination_memory} << 8 | r.is_async;
  AddOp(r, OpKind::kMemcpy, r.size_bytes, kinds, 0);
}

void TraceBuilder::Add(const trace::PeerCopyRecord& r) {
  const uint32_t kinds = uint32_t{r.source_memory} << 16 | uint32_t{r.destination_memory} << 8 | r.is_async;
  AddOp(r, OpKind::kPeerCopy, r.size_bytes, kinds, uint64_t{r.source_device} << 32 | r.destination_device);
}

void TraceBuilder::Add(const trace::MemsetRecord& r) {
  AddOp(r, OpKind::kMemset, r.size_bytes, uint32_t{r.memory} << 8 | r.is_async, 0);
}

void TraceBuilder::Add(const trace::GraphLaunchRecord& r) { AddOp(r, OpKind::kGraph, 0, 0, 0); }

void TraceBuilder::Add(const trace::SyncRecord& r) {
  Sync s;
  s.start_ns = TimeNs(r.start_ns);
  s.end_ns = EndNs(r.start_ns, r.duration_ns);
  s.thread = ThreadIndex(r.tid);
  s.process = process_;
  s.api = r.correlation;
  s.event = r.event;
  s.kind = EnumOr(r.sync_kind, trace::SyncKind::kContext, trace::SyncKind::kUnknown);
  s.stream = StreamOf(r.context, r.stream, &unjoined_.late_sync_streams, unjoined_.trace.syncs.size());
  Touch(s.start_ns, s.end_ns);
  unjoined_.trace.syncs.push_back(s);
}

void TraceBuilder::Add(const trace::OverheadRecord& r) {
  Overhead o;
  o.start_ns = TimeNs(r.start_ns);
  o.end_ns = EndNs(r.start_ns, r.duration_ns);
  o.process = process_;
  o.thread = r.tid == 0 ? kNone : ThreadIndex(r.tid);
  o.kind = r.overhead_kind;
  Touch(o.start_ns, o.end_ns);
  unjoined_.trace.overheads.push_back(o);
}

void TraceBuilder::Add(const trace::JitRecord& r) {
  Jit j;
  j.start_ns = TimeNs(r.start_ns);
  j.end_ns = EndNs(r.start_ns, r.duration_ns);
  j.process = process_;
  j.device = r.device;
  j.thread = r.tid == 0 ? kNone : ThreadIndex(r.tid);
  j.entry_kind = r.entry_kind;
  j.operation = r.operation;
  j.cache_bytes = r.cache_bytes;
  Touch(j.start_ns, j.end_ns);
  unjoined_.trace.jits.push_back(j);
}

void TraceBuilder::Add(const trace::EventRecordRecord& r) {
  EventRecord e;
  e.time_ns = TimeNs(r.time_ns);
  e.event = r.event;
  e.process = process_;
  e.thread = r.tid == 0 ? kNone : ThreadIndex(r.tid);
  e.api = r.correlation;
  e.stream = StreamOf(r.context, r.stream, &unjoined_.late_event_streams, unjoined_.trace.event_records.size());
  Touch(e.time_ns, e.time_ns);
  unjoined_.trace.event_records.push_back(e);
}

void TraceBuilder::Add(const trace::GraphNodeRecord& r) {
  GraphNode n;
  n.id = r.node;
  n.original_id = r.original;
  n.time_ns = TimeNs(r.time_ns);
  n.process = process_;
  n.thread = r.tid == 0 ? kNone : ThreadIndex(r.tid);
  n.graph = r.graph;
  n.node_type = r.node_type;
  Touch(n.time_ns, n.time_ns);
  unjoined_.trace.graph_nodes.push_back(n);
}

// ---- about the trace itself ----

void TraceBuilder::Add(const trace::LossRecord& r) {
  Loss loss;
  loss.process = process_;
  loss.reason = static_cast<trace::LossReason>(r.reason);
  loss.kind = r.lost_kind;
  loss.count = r.count;
  loss.time_ns = TimeNs(r.time_ns);
  unjoined_.trace.health.lost_records = AddSaturating(unjoined_.trace.health.lost_records, r.count);
  unjoined_.trace.losses.push_back(loss);
}

void TraceBuilder::Add(const trace::NoticeRecord& r) {
  Notice notice;
  notice.process = IsOfCollector() ? kNone : process_;
  notice.time_ns = TimeNs(r.time_ns);
  notice.level = r.level == 0 ? trace::NoticeLevel::kInfo
                              : EnumOr(r.level, trace::NoticeLevel::kError, trace::NoticeLevel::kError);
  notice.message = Name(r.message);
  unjoined_.trace.notices.push_back(notice);
}

void TraceBuilder::Add(const trace::EndRecord& r) {
  Process& p = unjoined_.trace.processes[process_];
  int64_t& last_ns = unjoined_.end_times_ns[process_];
  Touch(TimeNs(r.time_ns), TimeNs(r.time_ns));
  if (p.has_end && TimeNs(r.time_ns) < last_ns) return;  // a process that was stopped may have gone on
  last_ns = TimeNs(r.time_ns);
  p.has_end = true;
  p.end_reason = r.reason == 0 ? trace::EndReason::kExit
                               : EnumOr(r.reason, trace::EndReason::kSalvaged, trace::EndReason::kStopped);
  p.gpu_complete_until_ns = TimeNs(r.gpu_complete_until_ns);
}

void TraceBuilder::Add(const trace::CaptureRecord& r) {
  CaptureBorder border;
  border.time_ns = TimeNs(r.time_ns);
  border.process = process_;
  border.number = r.number;
  border.trigger = ToTrigger(r.trigger);
  border.is_start = r.event == static_cast<uint8_t>(trace::CaptureEvent::kStart);
  Touch(border.time_ns, border.time_ns);
  unjoined_.capture_borders.push_back(border);
}

}  // namespace gprof
