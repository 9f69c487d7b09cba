#include "tracer/cupti/activity/memory_records.h"

#include "tracer/cupti/activity/pauses.h"
#include "tracer/cupti/cupti_session.h"

namespace gprof::tracer {
namespace {

// CUPTI's numbers are the trace's own wherever both count the same things.
template <class Ours, class Theirs>
constexpr bool IsSame(Ours ours, Theirs theirs) {
  return static_cast<uint32_t>(ours) == static_cast<uint32_t>(theirs);
}
static_assert(IsSame(trace::MemoryKind::kUnknown, CUPTI_ACTIVITY_MEMORY_KIND_UNKNOWN));
static_assert(IsSame(trace::MemoryKind::kPageable, CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE));
static_assert(IsSame(trace::MemoryKind::kPinned, CUPTI_ACTIVITY_MEMORY_KIND_PINNED));
static_assert(IsSame(trace::MemoryKind::kDevice, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE));
static_assert(IsSame(trace::MemoryKind::kArray, CUPTI_ACTIVITY_MEMORY_KIND_ARRAY));
static_assert(IsSame(trace::MemoryKind::kManaged, CUPTI_ACTIVITY_MEMORY_KIND_MANAGED));
static_assert(IsSame(trace::MemoryKind::kDeviceStatic, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE_STATIC));
static_assert(IsSame(trace::MemoryKind::kManagedStatic, CUPTI_ACTIVITY_MEMORY_KIND_MANAGED_STATIC));
static_assert(IsSame(trace::MemoryOp::kAllocate, CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION));
static_assert(IsSame(trace::MemoryOp::kFree, CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE));
static_assert(IsSame(trace::PoolOp::kCreate, CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_CREATED));
static_assert(IsSame(trace::PoolOp::kDestroy, CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_DESTROYED));
static_assert(IsSame(trace::PoolOp::kTrim, CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_TRIMMED));
static_assert(IsSame(trace::ManagedKind::kUnknown, CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_UNKNOWN));
static_assert(IsSame(trace::ManagedKind::kHostToDevice,
                     CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD));
static_assert(IsSame(trace::ManagedKind::kDeviceToHost,
                     CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOH));
static_assert(IsSame(trace::ManagedKind::kCpuPageFaults,
                     CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_CPU_PAGE_FAULT_COUNT));
static_assert(IsSame(trace::ManagedKind::kGpuPageFault, CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT));
static_assert(IsSame(trace::ManagedKind::kThrashing, CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_THRASHING));
static_assert(IsSame(trace::ManagedKind::kThrottling, CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_THROTTLING));
static_assert(IsSame(trace::ManagedKind::kRemoteMap, CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_REMOTE_MAP));
static_assert(IsSame(trace::ManagedKind::kDeviceToDevice,
                     CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOD));

// No context or stream: CUPTI_INVALID_CONTEXT_ID and its like up to 13.4; since 13.5 those are 0.
constexpr uint32_t kNone = ~0u;
constexpr uint32_t kHost = CUPTI_UNIFIED_MEMORY_CPU_DEVICE_ID;

uint64_t TimeOf(uint64_t cupti_ns) { return cupti_ns == 0 ? 0 : GpuTimeToNs(cupti_ns); }

bool IsMove(trace::ManagedKind kind) {
  return kind == trace::ManagedKind::kHostToDevice || kind == trace::ManagedKind::kDeviceToHost ||
         kind == trace::ManagedKind::kDeviceToDevice;
}

// Which of the counter's fields mean something depends on its kind: cupti_activity.h,
// CUpti_ActivityUnifiedMemoryCounter3.
bool HasEnd(trace::ManagedKind kind) {
  return IsMove(kind) || kind == trace::ManagedKind::kGpuPageFault || kind == trace::ManagedKind::kThrottling;
}
bool HasDestination(trace::ManagedKind kind) { return IsMove(kind) || kind == trace::ManagedKind::kRemoteMap; }

}  // namespace

void Convert(const CUpti_ActivityMemory4& m, ChunkOutput* output, Cursor cursor) {
  trace::MemoryRecord r;
  r.time_ns = TimeOf(m.timestamp);
  r.operation = static_cast<uint8_t>(m.memoryOperationType);
  r.memory = static_cast<uint8_t>(m.memoryKind);
  r.is_async = m.isAsync != 0;
  r.address = m.address;
  r.size_bytes = m.bytes;
  r.device = m.deviceId;
  r.context = m.contextId == kNone ? 0 : m.contextId;
  r.stream = m.streamId == kNone ? 0 : m.streamId;
  r.correlation = m.correlationId;
  if (m.memoryPoolConfig.memoryPoolType != CUPTI_ACTIVITY_MEMORY_POOL_TYPE_INVALID) r.pool = m.memoryPoolConfig.address;
  if (!IsOfPause(r.correlation, r.time_ns)) output->Add(r, cursor);
}

void Convert(const CUpti_ActivityMemoryPool3& p, ChunkOutput* output, Cursor cursor) {
  trace::MemoryPoolRecord r;
  r.time_ns = TimeOf(p.timestamp);
  r.operation = static_cast<uint8_t>(p.memoryPoolOperationType);
  r.is_imported = p.memoryPoolType == CUPTI_ACTIVITY_MEMORY_POOL_TYPE_IMPORTED;
  r.pool = p.address;
  if (p.memoryPoolType == CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL) {
    r.size_bytes = p.size;
    r.used_bytes = p.utilizedSize;
    r.release_threshold_bytes = p.releaseThreshold;
  }
  if (p.memoryPoolOperationType == CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_TRIMMED) r.keep_bytes = p.minBytesToKeep;
  r.device = p.deviceId;
  r.correlation = p.correlationId;
  if (!IsOfPause(r.correlation, r.time_ns)) output->Add(r, cursor);
}

void Convert(const CUpti_ActivityUnifiedMemoryCounter3& u, ChunkOutput* output, Cursor cursor) {
  trace::ManagedMemoryRecord r;
  const auto kind = static_cast<trace::ManagedKind>(u.counterKind);
  const bool is_cpu_fault = kind == trace::ManagedKind::kCpuPageFaults;
  r.start_ns = TimeOf(u.start);
  r.duration_ns = HasEnd(kind) && u.end > u.start ? u.end - u.start : 0;
  r.managed_kind = static_cast<uint8_t>(kind);
  // A record is one fault on the host; CUPTI's value is then the instruction that it happened at.
  r.value = is_cpu_fault ? 1 : u.value;
  r.address = u.address;
  r.source = is_cpu_fault ? kHost : u.srcId;
  r.destination = HasDestination(kind) ? u.dstId : r.source;
  r.flags = u.flags;
  if (!IsOfPause(0, r.start_ns)) output->Add(r, cursor);
}

}  // namespace gprof::tracer
