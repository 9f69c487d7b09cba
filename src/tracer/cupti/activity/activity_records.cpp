// CUPTI's records to ours, one Convert for each kind. [writer thread, or salvage]
#include "tracer/cupti/activity/activity_records.h"

#include <stdlib.h>

#include <atomic>
#include <cstring>
#include <type_traits>

#include "tracer/capture/capture.h"
#include "tracer/cupti/activity/device_record.h"
#include "tracer/cupti/activity/memory_records.h"
#include "tracer/cupti/activity/pauses.h"
#include "tracer/cupti/activity/stream_ids.h"
#include "tracer/cupti/calls/callback_listener.h"
#include "tracer/cupti/calls/graph_level.h"
#include "tracer/cupti/cupti_session.h"
#include "tracer/store/interned_names.h"
#include "tracer/store/kernel_shapes.h"
#include "tracer/store/memory/arena.h"

namespace gprof::tracer {
namespace {

using trace::RecordKind;

constexpr uint32_t kActivityKinds = 64;
std::size_t record_bytes[kActivityKinds] GPROF_IN_ARENA = {};

// A record as the newest struct that we know; what an older library did not write is 0.
template <class T>
T CopyOf(const CUpti_Activity* record) {
  T copy{};
  const std::size_t known = record_bytes[record->kind];
  std::memcpy(static_cast<void*>(&copy), record, known != 0 && known < sizeof copy ? known : sizeof copy);
  return copy;
}

struct Span {
  uint64_t start_ns = 0, duration_ns = 0;
};

// Operations without usable times keep 0: readers count them and leave them out.
Span SpanOf(uint64_t start, uint64_t end) {
  constexpr uint64_t kNever = 1ull << 63;
  if (start == 0 || end < start || end >= kNever) return {};
  const uint64_t start_ns = GpuTimeToNs(start);
  return {start_ns, end - start};
}

// What records of operations have in common, under the names that all of CUPTI's structs give it.
template <class Record, class Activity>
Record OperationOf(const Activity& a) {
  Record r;
  const Span span = SpanOf(a.start, a.end);
  r.start_ns = span.start_ns;
  r.duration_ns = span.duration_ns;
  r.device = a.deviceId;
  r.context = a.contextId;
  r.stream = a.streamId;
  r.correlation = a.correlationId;
  r.graph = a.graphId;
  r.graph_node = a.graphNodeId;
  return r;
}

struct NameSlot {
  const char* pointer;
  trace::StringId id;
};
NameSlot name_slots[4096] GPROF_IN_ARENA = {};

// Names of kernels that CUPTI has delivered and the writer thread has not come to yet: those of a process that dies in
// between are found here. The first name of a slot stays.
struct EarlyName {
  std::atomic<uintptr_t> pointer;  // 1 while the id is being found
  std::atomic<uint32_t> id;
};
EarlyName early_names[4096] GPROF_IN_ARENA = {};

EarlyName& EarlySlot(uintptr_t name) { return early_names[(name >> 4) % 4096]; }

trace::StringId EarlyNameOf(const char* name) {
  const auto pointer = reinterpret_cast<uintptr_t>(name);
  EarlyName& slot = EarlySlot(pointer);
  if (slot.pointer.load(std::memory_order_acquire) != pointer) return Names().Intern("<name lost with the process>");
  return {slot.id.load(std::memory_order_relaxed)};
}

// Kernel names are shared by all records of a kernel, so the pointer nearly always says which name it is. In salvage it
// is all there is: the text died with the process.
trace::StringId KernelName(const char* name) {
  if (name == nullptr) return {};
  NameSlot& slot = name_slots[(reinterpret_cast<uintptr_t>(name) >> 4) % 4096];
  if (is_salvage) return slot.pointer == name ? slot.id : EarlyNameOf(name);
  if (slot.pointer == name) {
    const trace::Text text = Names().TextOf(slot.id);
    if (strncmp(text.data, name, text.size) == 0 && (text.size == kMaxNameBytes || name[text.size] == 0))
      return slot.id;
  }
  slot.pointer = nullptr;
  slot.id = Names().Intern(name);
  slot.pointer = slot.id.value != 0 ? name : nullptr;
  return slot.id;
}

trace::ShapeId ShapeOfKernel(const CUpti_ActivityKernel10& k) {
  trace::KernelShapeRecord s;
  s.grid_x = static_cast<uint32_t>(k.gridX);
  s.grid_y = static_cast<uint32_t>(k.gridY);
  s.grid_z = static_cast<uint32_t>(k.gridZ);
  s.block_x = static_cast<uint32_t>(k.blockX);
  s.block_y = static_cast<uint32_t>(k.blockY);
  s.block_z = static_cast<uint32_t>(k.blockZ);
  s.cluster_x = k.clusterX;
  s.cluster_y = k.clusterY;
  s.cluster_z = k.clusterZ;
  s.registers_per_thread = k.registersPerThread;
  s.static_shared_bytes = static_cast<uint32_t>(k.staticSharedMemory);
  s.dynamic_shared_bytes = static_cast<uint32_t>(k.dynamicSharedMemory);
  s.local_bytes_per_thread = k.localMemoryPerThread;
  s.local_bytes_total = k.localMemoryTotal_v2 != 0 ? k.localMemoryTotal_v2 : k.localMemoryTotal;
  s.shared_carveout_bytes = k.sharedMemoryExecuted;
  s.cache_config = k.cacheConfig.config.executed;
  return Shapes().Intern(s);
}

uint64_t last_operation_end_ns GPROF_IN_ARENA = 0;

uint32_t told_look GPROF_IN_ARENA = 0;

template <class Record>
constexpr trace::ProgressKind ProgressKindOf() {
  if (std::is_same_v<Record, trace::KernelRecord>) return trace::ProgressKind::kKernel;
  if (std::is_same_v<Record, trace::MemsetRecord>) return trace::ProgressKind::kMemset;
  return std::is_same_v<Record, trace::GraphLaunchRecord> ? trace::ProgressKind::kGraph : trace::ProgressKind::kCopy;
}

template <class Record>
void AddUnfinished(const Record& operation, ChunkOutput* output, Cursor cursor) {
  trace::InProgressRecord r;
  r.look = told_look;
  r.time_ns = MonotonicNs();
  r.progress_kind = static_cast<uint8_t>(ProgressKindOf<Record>());
  r.device = operation.device;
  r.context = operation.context;
  r.stream = operation.stream;
  r.correlation = operation.correlation;
  if constexpr (requires { operation.name; }) r.name = operation.name;
  if constexpr (requires { operation.size_bytes; }) r.size_bytes = operation.size_bytes;
  output->Add(r, cursor);
}

// A graph as a whole is part of the base level; its kind is on in any case (activity_kinds.h).
template <class Record>
void AddOfPause(const Record& r, ChunkOutput* output, Cursor cursor) {
  if constexpr (std::is_same_v<Record, trace::GraphLaunchRecord>) {
    if (!IsBaseRecorded() || r.start_ns == 0) return;
    output->Add(
        trace::BaseGraphRecord{r.start_ns, r.duration_ns, r.device, r.context, r.stream, r.correlation, r.graph},
        cursor);
  }
}

template <class Record>
void AddOperation(const Record& r, ChunkOutput* output, Cursor cursor) {
  if (r.start_ns == 0 && told_look != 0) return AddUnfinished(r, output, cursor);
  const uint64_t end_ns = r.start_ns + r.duration_ns;
  if (!IsOfCapture(r.start_ns, end_ns)) return;
  if (IsOfPause(r.correlation, r.start_ns)) return AddOfPause(r, output, cursor);
  output->Add(r, cursor);
  if (end_ns > last_operation_end_ns) last_operation_end_ns = end_ns;
}

void Convert(const CUpti_ActivityKernel10& k, ChunkOutput* output, Cursor cursor) {
  auto r = OperationOf<trace::KernelRecord>(k);
  r.name = KernelName(k.name);
  r.shape = ShapeOfKernel(k);
  r.queued_ns = k.queued == 0 ? 0 : GpuTimeToNs(k.queued);
  r.submitted_ns = k.submitted == 0 ? 0 : GpuTimeToNs(k.submitted);
  r.channel = k.channelID;
  r.is_device_launched = k.isDeviceLaunched;
  AddOperation(r, output, cursor);
}

void Convert(const CUpti_ActivityMemcpy6& m, ChunkOutput* output, Cursor cursor) {
  auto r = OperationOf<trace::MemcpyRecord>(m);
  r.size_bytes = m.bytes;
  r.copy_kind = m.copyKind;
  r.source_memory = m.srcKind;
  r.destination_memory = m.dstKind;
  r.is_async = (m.flags & CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC) != 0;
  r.channel = m.channelID;
  r.copy_count = record_bytes[CUPTI_ACTIVITY_KIND_MEMCPY] >= sizeof m ? m.copyCount : 0;
  AddOperation(r, output, cursor);
}

void Convert(const CUpti_ActivityMemcpyPtoP4& m, ChunkOutput* output, Cursor cursor) {
  auto r = OperationOf<trace::PeerCopyRecord>(m);
  r.size_bytes = m.bytes;
  r.source_memory = m.srcKind;
  r.destination_memory = m.dstKind;
  r.is_async = (m.flags & CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC) != 0;
  r.source_device = m.srcDeviceId;
  r.destination_device = m.dstDeviceId;
  AddOperation(r, output, cursor);
}

void Convert(const CUpti_ActivityMemset4& m, ChunkOutput* output, Cursor cursor) {
  auto r = OperationOf<trace::MemsetRecord>(m);
  r.size_bytes = m.bytes;
  r.value = m.value;
  r.memory = static_cast<uint8_t>(m.memoryKind);
  r.is_async = (m.flags & CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC) != 0;
  AddOperation(r, output, cursor);
}

void Convert(const CUpti_ActivityGraphTrace2& g, ChunkOutput* output, Cursor cursor) {
  const Span span = SpanOf(g.start, g.end);
  CountGraphLaunch(g.graphId, span.start_ns, span.start_ns + span.duration_ns);
  AddOperation(trace::GraphLaunchRecord{span.start_ns, span.duration_ns, g.deviceId, g.contextId, g.streamId,
                                        g.correlationId, g.graphId},
               output, cursor);
}

void Convert(const CUpti_ActivityOverhead3& o, ChunkOutput* output, Cursor cursor) {
  const Span span = SpanOf(o.start, o.end);
  const bool is_thread = o.objectKind == CUPTI_ACTIVITY_OBJECT_THREAD;
  output->Add(trace::OverheadRecord{span.start_ns, span.duration_ns, static_cast<uint32_t>(o.overheadKind),
                                    is_thread ? o.objectId.pt.threadId : 0, o.correlationId},
              cursor);
  // CUPTI allocates this one for the reader to free.
  if (is_salvage) return;
  if (o.overheadKind == CUPTI_ACTIVITY_OVERHEAD_COMMAND_BUFFER_FULL && o.overheadData != nullptr) free(o.overheadData);
}

void Convert(const CUpti_ActivityJit2& j, ChunkOutput* output, Cursor cursor) {
  trace::JitRecord r;
  const Span span = SpanOf(j.start, j.end);
  r.start_ns = span.start_ns;
  r.duration_ns = span.duration_ns;
  r.device = j.deviceId;
  r.tid = j.threadId;
  r.correlation = j.correlationId;
  r.entry_kind = static_cast<uint8_t>(j.jitEntryType);
  r.operation = static_cast<uint8_t>(j.jitOperationType);
  r.cache_bytes = j.cacheSize;
  r.cache_path = is_salvage ? trace::StringId{} : Names().Intern(j.cachePath);
  output->Add(r, cursor);
}

void Convert(const CUpti_ActivityContext3& c, ChunkOutput* output, Cursor cursor) {
  NoteNullStream(c.contextId, c.nullStreamId);
  output->Add(trace::ContextRecord{c.contextId, c.deviceId, c.nullStreamId}, cursor);
}

// Says what the callback of the stream's creation could not: priority and flags. Readers join the two by id.
void Convert(const CUpti_ActivityStream& s, ChunkOutput* output, Cursor cursor) {
  if (s.flag != CUPTI_ACTIVITY_STREAM_CREATE_FLAG_DEFAULT && s.flag != CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NON_BLOCKING) {
    return;
  }
  trace::StreamRecord r;
  r.context = s.contextId;
  r.stream = s.streamId;
  r.priority = static_cast<int32_t>(s.priority);
  r.is_non_blocking = s.flag == CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NON_BLOCKING;
  output->Add(r, cursor);
}

void Convert(const CUpti_ActivityDevice5& d, ChunkOutput* output, Cursor cursor) {
  output->Add(DeviceOf(d), cursor);
  if (!is_salvage) free(const_cast<char*>(d.name));  // CUPTI leaves this one to the reader
}

}  // namespace

void KeepNameOf(const CUpti_Activity* record) {
  if (record->kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL && record->kind != CUPTI_ACTIVITY_KIND_KERNEL) return;
  // Where it is in the structs of all versions.
  const char* const name = reinterpret_cast<const CUpti_ActivityKernel10*>(record)->name;
  const auto pointer = reinterpret_cast<uintptr_t>(name);
  EarlyName& slot = EarlySlot(pointer);
  uintptr_t none = 0;
  if (name == nullptr || slot.pointer.load(std::memory_order_relaxed) != none) return;
  if (!slot.pointer.compare_exchange_strong(none, 1, std::memory_order_relaxed)) return;
  slot.id.store(Names().Intern(name).value, std::memory_order_relaxed);
  slot.pointer.store(pointer, std::memory_order_release);
}

void ConvertRecord(const CUpti_Activity* record, ChunkOutput* output, Cursor cursor) {
  switch (record->kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
    case CUPTI_ACTIVITY_KIND_KERNEL:
      return Convert(CopyOf<CUpti_ActivityKernel10>(record), output, cursor);
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      return Convert(CopyOf<CUpti_ActivityMemcpy6>(record), output, cursor);
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
      return Convert(CopyOf<CUpti_ActivityMemcpyPtoP4>(record), output, cursor);
    case CUPTI_ACTIVITY_KIND_MEMSET:
      return Convert(CopyOf<CUpti_ActivityMemset4>(record), output, cursor);
    case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
      return Convert(CopyOf<CUpti_ActivityGraphTrace2>(record), output, cursor);
    case CUPTI_ACTIVITY_KIND_MEMORY2:
      return Convert(CopyOf<CUpti_ActivityMemory4>(record), output, cursor);
    case CUPTI_ACTIVITY_KIND_MEMORY_POOL:
      return Convert(CopyOf<CUpti_ActivityMemoryPool3>(record), output, cursor);
    case CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER:
      return Convert(CopyOf<CUpti_ActivityUnifiedMemoryCounter3>(record), output, cursor);
    case CUPTI_ACTIVITY_KIND_OVERHEAD:
      return Convert(CopyOf<CUpti_ActivityOverhead3>(record), output, cursor);
    case CUPTI_ACTIVITY_KIND_JIT:
      return Convert(CopyOf<CUpti_ActivityJit2>(record), output, cursor);
    case CUPTI_ACTIVITY_KIND_CONTEXT:
      return Convert(CopyOf<CUpti_ActivityContext3>(record), output, cursor);
    case CUPTI_ACTIVITY_KIND_STREAM:
      return Convert(CopyOf<CUpti_ActivityStream>(record), output, cursor);
    case CUPTI_ACTIVITY_KIND_DEVICE:
      return Convert(CopyOf<CUpti_ActivityDevice5>(record), output, cursor);
    default:
      return output->CountLoss(RecordKind{}, trace::LossReason::kUnknownRecord, 1);
  }
}

uint64_t LastOperationEndNs() { return last_operation_end_ns; }

std::size_t RecordBytes(uint32_t kind) { return kind < kActivityKinds ? record_bytes[kind] : 0; }

void TellUnfinishedWork(uint32_t look) { told_look = look; }

void LearnRecordSizes() {
  alignas(8) static uint32_t fake[2048];
  for (uint32_t kind = 1; kind < kActivityKinds; ++kind) {
    for (uint32_t& word : fake) word = kind;
    CUpti_Activity* first = nullptr;
    auto* bytes = reinterpret_cast<uint8_t*>(fake);
    if (Cupti().cuptiActivityGetNextRecord(bytes, sizeof fake, &first) != CUPTI_SUCCESS) continue;
    CUpti_Activity* second = first;
    if (Cupti().cuptiActivityGetNextRecord(bytes, sizeof fake, &second) != CUPTI_SUCCESS) continue;
    record_bytes[kind] =
        static_cast<std::size_t>(reinterpret_cast<uint8_t*>(second) - reinterpret_cast<uint8_t*>(first));
  }
}

}  // namespace gprof::tracer
