// Compiled with unwind tables: a profiler of the program may throw through OnReport(), which owns nothing.
#include "tracer/pytorch/tensor_memory.h"

#include <errno.h>

#include "tracer/capture/capture.h"
#include "tracer/core/config.h"
#include "tracer/core/notice.h"
#include "tracer/imports/import_slots.h"
#include "tracer/store/caller_stack.h"
#include "tracer/store/interned_names.h"
#include "tracer/store/memory/arena.h"
#include "tracer/store/thread_log.h"

namespace gprof::tracer {
namespace {

constexpr uint8_t kCuda = 1;  // c10::DeviceType

struct TensorMemoryRow {
  RowHeader header;  // its flags are the device
  uint32_t stack;    // of whoever asked for it, 0 for none
  uint64_t stamp;
  uint64_t address;
  int64_t bytes;  // negative when they are given back
  uint64_t allocated, reserved;
};

WrapTarget target;

// Within the allocator, which holds a lock of its own: nothing is started here. `device` is two bytes, type and number.
void OnReport(void* pointer, int64_t bytes, uint64_t allocated, uint64_t reserved, uint16_t device) {
  using Report = void(void*, int64_t, uint64_t, uint64_t, uint16_t);
  reinterpret_cast<Report*>(target.real)(pointer, bytes, allocated, reserved, device);
  if ((device & 0xFF) != kCuda || !IsCapturing()) return;
  const int kept = errno;
  ThreadLog* const log = own_log != nullptr ? own_log : AcquireLogWithinCall(true);
  if (log != nullptr) {
    const uint32_t stack = bytes > 0 ? CallerStack(log) : 0;
    TensorMemoryRow row{RowHeaderOf<TensorMemoryRow>(RowType::kTensorMemory),
                        stack,
                        Stamp(),
                        reinterpret_cast<uint64_t>(pointer),
                        bytes,
                        allocated,
                        reserved};
    row.header.flags = static_cast<uint8_t>(device >> 8);
    Append(log, row);
  }
  errno = kept;
}

WrappedSymbol wrapped;

void See(const LoadedModule& module) {
  if (void* const found = module.AddressOfExport(kReportOfTorch); found != nullptr) target.real = found;
}

// ---- records ----

// The tracks of a device. Salvage has the numbers of the process that died.
constexpr uint32_t kMostDevices = 64;
struct DeviceTracks {
  uint32_t allocated, reserved;  // their sources
};
constinit DeviceTracks devices[kMostDevices] GPROF_IN_ARENA = {};
constinit uint32_t source_count GPROF_IN_ARENA = 0;

uint32_t NewSource(const char* name, uint32_t device, uint64_t time_ns) {
  trace::MetricSourceRecord r;
  r.time_ns = time_ns;
  r.id = ++source_count;
  r.name = Names().Intern(name);
  r.unit = Names().Intern("bytes");
  r.origin = Names().Intern("PyTorch");
  r.metric_kind = static_cast<uint8_t>(trace::MetricKind::kGauge);
  r.scope = static_cast<uint8_t>(trace::MetricScope::kDevice);
  r.device = device;
  Output().Add(r);
  return r.id;
}

void AddSample(uint32_t source, uint64_t time_ns, uint64_t bytes) {
  trace::MetricBlockRecord r;
  r.start_ns = time_ns;
  r.source = source;
  r.value = static_cast<int64_t>(bytes);
  Output().Add(r);
}

void AddSamples(const TensorMemoryRow& row, uint32_t device, uint64_t time_ns) {
  DeviceTracks& tracks = devices[device];
  if (tracks.allocated == 0) {
    tracks.allocated = NewSource("PyTorch memory allocated", device, time_ns);
    tracks.reserved = NewSource("PyTorch memory reserved", device, time_ns);
  }
  AddSample(tracks.allocated, time_ns, row.allocated);
  // Also where it is what it was: rows of several threads do not come in the order of their times.
  AddSample(tracks.reserved, time_ns, row.reserved);
}

}  // namespace

void StartTensorMemory() {
  if (!Config().wants_tensor_memory) return;
  wrapped = {kReportOfTorch, reinterpret_cast<void*>(&OnReport), &target};
  AddWrapped(wrapped);
  WatchModules({.see = See, .is_urgent = [] { return target.real != nullptr; }});
}

// Tracks say what the device holds, blocks which thread was given what, and where.
void ConvertTensorMemoryRow(const RowHeader* header, const RowSource& source) {
  const auto& row = *reinterpret_cast<const TensorMemoryRow*>(header);
  const uint32_t device = row.header.flags % kMostDevices;
  const uint64_t time_ns = source.clock.ToNs(row.stamp);
  AddSamples(row, device, time_ns);
  trace::TensorBlockRecord r;
  r.time_ns = time_ns;
  r.tid = source.log->tid;
  r.device = static_cast<int32_t>(device);
  r.address = row.address;
  r.size_bytes = row.bytes;
  r.stack = row.stack;
  source.output->Add(r, source.cursor);
}

// Sources are of a file; in another one they are told anew.
void RetellTensorMemory() {
  for (DeviceTracks& device : devices) device = {};
}

void ResetTensorMemoryAfterFork() {
  RetellTensorMemory();
  source_count = 0;
}

}  // namespace gprof::tracer
