// What becomes of the records about memory: allocations, pools, managed memory.
#include "trace/builder/builder.h"
#include "trace/model/saturating_time.h"
#include "trace/text/enum_or.h"

namespace gprof {

void TraceBuilder::Add(const trace::MemoryRecord& r) {
  MemoryEvent m;
  m.time_ns = TimeNs(r.time_ns);
  m.address = r.address;
  m.size_bytes = r.size_bytes;
  m.process = process_;
  m.device = r.device;
  m.api = r.correlation;
  m.operation =
      r.operation == static_cast<uint8_t>(trace::MemoryOp::kFree) ? trace::MemoryOp::kFree : trace::MemoryOp::kAllocate;
  m.memory = ToMemoryKind(r.memory);
  m.is_async = r.is_async != 0;
  m.pool = r.pool;
  m.stream = StreamOf(r.context, r.stream, &unjoined_.late_memory_streams, unjoined_.trace.memory_events.size());
  Touch(m.time_ns, m.time_ns);
  unjoined_.trace.memory_events.push_back(m);
}

void TraceBuilder::Add(const trace::ManagedMemoryRecord& r) {
  ManagedMemory m;
  m.start_ns = TimeNs(r.start_ns);
  m.end_ns = EndNs(r.start_ns, r.duration_ns);
  m.value = r.value;
  m.address = r.address;
  m.process = process_;
  m.source = r.source;
  m.destination = r.destination;
  m.flags = r.flags;
  m.kind = EnumOr(r.managed_kind, trace::ManagedKind::kDeviceToDevice, trace::ManagedKind::kUnknown);
  m.stream = StreamOf(0, r.stream, &unjoined_.late_managed_streams, unjoined_.trace.managed_memory.size());
  Touch(m.start_ns, m.end_ns);
  unjoined_.trace.managed_memory.push_back(m);
}

void TraceBuilder::Add(const trace::MemoryPoolRecord& r) {
  MemoryPoolEvent p;
  p.time_ns = TimeNs(r.time_ns);
  p.pool = r.pool;
  p.size_bytes = r.size_bytes;
  p.used_bytes = r.used_bytes;
  p.release_threshold_bytes = r.release_threshold_bytes;
  p.keep_bytes = r.keep_bytes;
  p.process = process_;
  p.device = r.device;
  p.api = r.correlation;
  p.operation =
      r.operation == 0 ? trace::PoolOp::kCreate : EnumOr(r.operation, trace::PoolOp::kTrim, trace::PoolOp::kTrim);
  p.is_imported = r.is_imported != 0;
  Touch(p.time_ns, p.time_ns);
  unjoined_.trace.memory_pools.push_back(p);
}

}  // namespace gprof
