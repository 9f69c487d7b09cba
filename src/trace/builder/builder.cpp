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
  process_ = at->second;
  if (is_new) (is_collector ? unjoined_.collector_hosts : unjoined_.hosts).push_back(header.process.host);
  if (is_new && !is_collector) {
    Process p;
    p.pid = header.process.pid;
    p.image = header.process.image;
    unjoined_.trace.processes.push_back(p);
    unjoined_.correlations.emplace_back();
    unjoined_.end_times_ns.push_back(0);
    unjoined_.stop_times_ns.push_back(0);
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
  if (!has_numbers_) {  // nothing was read from a file
    NumberThings(unjoined_);
    GroupAdded(unjoined_);
  }
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

// Adds what the record becomes.
template <class M, class R>
M& TraceBuilder::Take(const R& r) {
  M& m = (unjoined_.trace.*kListOf<M>.list).emplace_back(joins_.ToModel<M>(process_, r));
  if constexpr (HasRole<M>(Role::kTime) || HasRole<M>(Role::kStart)) Touch(WhenOf(m), EndOf(m));
  return m;
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
  UpdateIfSet(&p.cores, r.cores);
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

void TraceBuilder::Add(const trace::SyncRecord& r) {
  Sync& s = Take<Sync>(r);
  s.thread = ThreadIndex(r.tid);
  s.kind = EnumOr(r.sync_kind, trace::SyncKind::kContext, trace::SyncKind::kUnknown);
}

void TraceBuilder::Add(const trace::OverheadRecord& r) { Take<Overhead>(r).kind = r.overhead_kind; }

void TraceBuilder::Add(const trace::JitRecord& r) { Take<Jit>(r); }

void TraceBuilder::Add(const trace::EventRecordRecord& r) { Take<EventRecord>(r); }

void TraceBuilder::Add(const trace::GraphNodeRecord& r) {
  trace::GraphNodeRecord without_stack = r;
  without_stack.stack = 0;
  GraphNode& n = Take<GraphNode>(without_stack);
  n.id = r.node;
  n.original_id = r.original;
  n.stack = r.stack == 0 ? kNone : r.stack;  // its number, until all stacks are known
}

void TraceBuilder::Add(const trace::MemoryRecord& r) {
  MemoryEvent& m = Take<MemoryEvent>(r);
  m.operation =
      r.operation == static_cast<uint8_t>(trace::MemoryOp::kFree) ? trace::MemoryOp::kFree : trace::MemoryOp::kAllocate;
  m.memory = ToMemoryKind(r.memory);
}

void TraceBuilder::Add(const trace::ManagedMemoryRecord& r) {
  Take<ManagedMemory>(r).kind =
      EnumOr(r.managed_kind, trace::ManagedKind::kDeviceToDevice, trace::ManagedKind::kUnknown);
}

void TraceBuilder::Add(const trace::MemoryPoolRecord& r) {
  Take<MemoryPoolEvent>(r).operation =
      r.operation == 0 ? trace::PoolOp::kCreate : EnumOr(r.operation, trace::PoolOp::kTrim, trace::PoolOp::kTrim);
}

// ---- about the trace itself ----

void TraceBuilder::Add(const trace::LossRecord& r) {
  Loss& loss = Take<Loss>(r);
  loss.reason = static_cast<trace::LossReason>(r.reason);
  loss.kind = r.lost_kind;
  unjoined_.trace.health.lost_records = AddSaturating(unjoined_.trace.health.lost_records, r.count);
}

void TraceBuilder::Add(const trace::NoticeRecord& r) {
  Take<Notice>(r).level = r.level == 0 ? trace::NoticeLevel::kInfo
                                       : EnumOr(r.level, trace::NoticeLevel::kReason, trace::NoticeLevel::kError);
}

void TraceBuilder::Add(const trace::EndRecord& r) {
  Process& p = unjoined_.trace.processes[process_];
  int64_t& last_ns = unjoined_.end_times_ns[process_];
  Touch(TimeNs(r.time_ns), TimeNs(r.time_ns));
  if (r.reason == static_cast<uint8_t>(trace::EndReason::kStopped) && r.gpu_complete_until_ns == 0) {
    unjoined_.stop_times_ns[process_] = std::max(unjoined_.stop_times_ns[process_], TimeNs(r.time_ns));
  }
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
