// What the records said, before the joins make a Trace of it. Filled by TraceBuilder, finished by the functions of
// join.h.
//
// Until the joins have run, some fields of the model hold what the record holds:
//   * `device` of operations, contexts and streams is an index into `device_slots`,
//   * devices of JIT and memory records are ordinals in their process,
//   * `api` of syncs, event records, memory and pool records is a correlation id,
//   * operations have no call, but the correlation id of it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "gprof/trace.h"
#include "trace/builder/flat_index.h"
#include "trace/builder/nvtx_events.h"
#include "trace/model/name_table.h"
#include "trace/model/saturating_time.h"

namespace gprof {

// A kernel of a record was launched by the GPU: no call of the host did.
constexpr bool IsLaunchedByDevice(uint8_t is_device_launched, uint32_t correlation) {
  return is_device_launched != 0 && correlation == 0;
}

// A device as one process sees it.
struct DeviceSlot {
  uint32_t process = kNone;
  bool is_described = false;
  trace::DeviceRecord properties;  // `device` is the ordinal in the process
  NameId name, uuid;
};

// A record of a payload's layout, and the domain it belongs to.
template <class R>
struct OfDomain {
  uint32_t domain = kNone;
  R record;  // its StringId is not usable here: see name
  NameId name;
};

// The bytes that a program attached to an NVTX event.
struct RawPayload {
  int64_t time_ns = 0;
  uint64_t range = 0, schema = 0;
  uint64_t first_byte = 0;  // in UnjoinedTrace::payload_bytes
  uint32_t size_bytes = 0;
  uint32_t thread = kNone, domain = kNone;
  trace::NvtxEvent event{};
  uint32_t of_range = kNone, of_mark = kNone;  // what it is attached to
};

// Where the recording of a process began or stopped.
struct CaptureBorder {
  int64_t time_ns = 0;
  uint32_t process = kNone, number = 0;
  trace::CaptureTrigger trigger{};
  bool is_start = false;
};

struct ObjectName {
  int64_t time_ns = 0;
  uint64_t handle = 0;
  uint32_t process = kNone;
  NameId name;
  trace::NvtxNameKind object{};
};

// A shape that a kernel named before its definition was read. Until all is read, such traits have kLateShape + the
// place in the list of these as their shape.
struct LateShape {
  uint32_t process = kNone, shape = 0;
};
inline constexpr uint32_t kLateShape = 1u << 31;

// Streams given by their ids alone: which context they belong to is known only at the end. `event` is a place in the
// list of M.
struct LateStream {
  uint32_t event = kNone, process = kNone, stream = 0;
};
template <class M>
struct LateStreams {
  using Model = M;
  std::vector<LateStream> streams;
};

// A name that was used before its text was read, and the name that it turned out to be.
struct LateName {
  NameId placeholder, name;
};

// Records that are joined when all is read: what they name may come behind them, or from another process. A kind is one
// of those unless TraceBuilder has an Add for it. The kinds before this one all have.
inline constexpr auto kFirstKept = trace::RecordKind::kModule;

template <class R>
struct Kept {
  uint32_t writer = kNone;  // index of the process that wrote it, or kCollector and the number of the collector
  R record;
};

template <class R>
using KeptRows = std::vector<Kept<R>>;

// A collector is no process of the trace. Its texts and what it numbers are under this and its own number.
inline constexpr uint32_t kCollector = 1u << 31;
constexpr bool IsCollector(uint32_t writer) { return writer >= kCollector; }

// The correlation ids of a process.
struct CorrelationExtent {
  uint32_t low = kNone, high = 0, count = 0;

  void Add(const CorrelationExtent& other) {
    low = std::min(low, other.low);
    high = std::max(high, other.high);
    count += other.count;
  }
};

// NVTX events of a thread that begin a range, and those that are marks.
struct EventCounts {
  uint32_t ranges = 0, marks = 0;

  void Add(trace::NvtxEvent event, uint32_t count) {
    if (event == trace::NvtxEvent::kPush || event == trace::NvtxEvent::kStart) ranges += count;
    if (event == trace::NvtxEvent::kMark) marks += count;
  }
};

struct UnjoinedTrace {
  Trace trace;
  NameTable names;
  FlatIndex string_ids, shape_ids;  // (process, id)
  FlatIndex threads;                // (process, tid)
  FlatIndex contexts;               // (process, context)
  FlatIndex streams;                // (process and context, stream)
  FlatIndex domains, categories;    // (process, domain), (domain index, category)
  FlatIndex slot_ids;               // (process, ordinal)
  std::vector<DeviceSlot> device_slots;
  std::vector<uint32_t> missing_names;  // placeholders `<name #12>`, sorted
  std::vector<LateName> late_names;
  std::vector<LateShape> late_shapes;
  trace::ForEachType<LateStreams,
                     trace::RecordTypes<Sync, MemoryEvent, EventRecord, ManagedMemory, InProgress, BaseGraph>>
      late_streams;
  std::vector<CaptureBorder> capture_borders;
  // When ranges were recorded: captures, joined where the base level was on between them.
  std::vector<Capture> range_captures;
  std::vector<Trace::Slice> process_range_captures;
  std::vector<int64_t> end_times_ns;   // of end records, by process
  std::vector<int64_t> stop_times_ns;  // of those that say that a capture is over and whole: the last, 0 without one
  std::vector<OfDomain<trace::NvtxSchemaRecord>> schemas;
  std::vector<OfDomain<trace::NvtxSchemaEntryRecord>> schema_entries;
  std::vector<OfDomain<trace::NvtxEnumRecord>> enum_values;
  std::vector<RawPayload> raw_payloads;
  std::string payload_bytes;
  NvtxEvents nvtx_events;
  std::vector<Trace::Slice> thread_events;  // by thread, as events are grouped
  std::vector<EventCounts> thread_event_counts;
  // Where operations, calls and NVTX events that are in order begin, in each slice; none where that is not known.
  std::vector<uint32_t> op_runs, call_runs, event_runs;
  std::vector<ObjectName> object_names;
  std::vector<CorrelationExtent> correlations;           // of calls, by process
  std::vector<uint32_t> calls_of_traits;                 // how many there are, by traits
  std::vector<uint32_t> capture_calls;                   // that begin or end the capture of a stream, in order
  uint64_t launched_by_device = 0;                       // kernels that no call of the host launched
  trace::ForEachType<KeptRows, trace::AllRecords> kept;  // each until its join has taken it
  uint64_t missing_definitions = 0;                      // numbers that kept records name and nothing defines
  std::vector<uint64_t> hosts;                           // of chunk headers, by process
  std::vector<uint64_t> collector_hosts;                 // the same, by collector

  uint32_t ThreadIndex(uint32_t process, uint32_t tid);
  // kNone for 0, which stands for none, and for a process that is not in the trace.
  uint32_t ThreadOrNone(uint32_t process, uint32_t tid) {
    return process == kNone || tid == 0 ? kNone : ThreadIndex(process, tid);
  }
  uint32_t StreamIndex(uint32_t process, uint32_t context, uint32_t stream);
  // kNone where one of them is 0.
  uint32_t StreamOrNone(uint32_t process, uint32_t context, uint32_t stream) {
    return context == 0 || stream == 0 ? kNone : StreamIndex(process, context, stream);
  }
  uint32_t ContextIndex(uint32_t process, uint32_t context);
  uint32_t SlotIndex(uint32_t process, uint32_t ordinal);
  uint32_t DomainIndex(uint32_t process, uint32_t id);
  // A text of the process or collector. One that is not read yet is a placeholder until ResolveLateNames.
  NameId Name(uint32_t writer, trace::StringId id);
  // Something of the process happened in this time; nothing where last is before first.
  void Touch(uint32_t process, const TimeExtent& times);
};

}  // namespace gprof
