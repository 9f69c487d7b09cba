// The model: a trace file loaded, joined and checked. Immutable once built; every analysis reads it, none changes it.
//
// Everything refers to everything else by index into the vectors of Trace (kNone where there is nothing), so that the
// model can be searched, sliced and tested without pointers. Times are nanoseconds on the clock of the trace.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gprof/base_level.h"
#include "gprof/calibration.h"
#include "gprof/events.h"
#include "gprof/fact.h"
#include "gprof/fields.h"
#include "gprof/host_activity.h"
#include "gprof/in_progress.h"
#include "gprof/kernel_counters.h"
#include "gprof/metric_tracks.h"
#include "gprof/packed.h"
#include "gprof/packed_ranges.h"
#include "gprof/serving.h"
#include "gprof/trace/record.h"

namespace gprof {

struct Interval {
  int64_t start_ns = 0, end_ns = 0;
  int64_t DurationNs() const { return end_ns - start_ns; }
};

// What two intervals, or whatever has a start and an end, have in common; 0 where they are apart.
template <class A, class B>
int64_t OverlapNs(const A& a, const B& b) {
  return std::max<int64_t>(std::min<int64_t>(a.end_ns, b.end_ns) - std::max<int64_t>(a.start_ns, b.start_ns), 0);
}

struct Process {
  uint32_t pid = 0, parent_pid = 0;
  uint32_t image = 0;
  int64_t start_ns = 0;
  int64_t end_ns = 0;  // last thing known of it
  NameId name, command_line, host, tracer_version, cupti_path;
  uint32_t cupti_version = 0, driver_version = 0, runtime_version = 0;
  int32_t rank = -1, local_rank = -1;  // -1: none, or not known
  uint32_t world_size = 0;             // 0: not known
  uint32_t cores = 0;                  // that it may run on; 0: not known
  NameId rank_source;                  // who numbered the ranks: "Slurm", "torchrun", …
  NameId capture_mode;                 // what was asked to be recorded, and when
  int64_t gpu_complete_until_ns = 0;   // GPU work that ended later may be missing, 0 when none is
  bool is_forked = false;
  bool has_end = false;                                   // there is an end record: everything it recorded is here
  trace::EndReason end_reason = trace::EndReason::kExit;  // where has_end
  bool IsSalvaged() const { return has_end && end_reason == trace::EndReason::kSalvaged; }
  template <class M, class V>
  static constexpr void Fields(M& m, V&& v) {
    v(FieldOf{"pid"}, m.pid);
    v(FieldOf{"parent_pid"}, m.parent_pid);
    v(FieldOf{"image"}, m.image);
    v(FieldOf{"start_ns", Role::kKnownTime}, m.start_ns);
    v(FieldOf{"end_ns", Role::kKnownTime}, m.end_ns);
    v(FieldOf{"name"}, m.name);
    v(FieldOf{"command_line"}, m.command_line);
    v(FieldOf{"host"}, m.host);
    v(FieldOf{"tracer_version"}, m.tracer_version);
    v(FieldOf{"cupti_path"}, m.cupti_path);
    v(FieldOf{"cupti_version"}, m.cupti_version);
    v(FieldOf{"driver_version"}, m.driver_version);
    v(FieldOf{"runtime_version"}, m.runtime_version);
    v(FieldOf{"rank"}, m.rank);
    v(FieldOf{"local_rank"}, m.local_rank);
    v(FieldOf{"world_size"}, m.world_size);
    v(FieldOf{"cores"}, m.cores);
    v(FieldOf{"rank_source"}, m.rank_source);
    v(FieldOf{"capture_mode"}, m.capture_mode);
    v(FieldOf{"gpu_complete_until_ns", Role::kKnownTime}, m.gpu_complete_until_ns);
    v(FieldOf{"is_forked"}, m.is_forked);
    v(FieldOf{"has_end"}, m.has_end);
    v(FieldOf{"end_reason"}, m.end_reason);
  }
};

// A time in which a process was recorded. A process without any was recorded throughout.
struct Capture {
  int64_t start_ns = 0, end_ns = 0;
  uint32_t process = kNone;
  uint32_t number = 0;                                              // counts the captures of the process from 1
  trace::CaptureTrigger trigger = trace::CaptureTrigger::kBegin;    // what began it
  trace::CaptureTrigger end_trigger = trace::CaptureTrigger::kEnd;  // what ended it
  bool is_open = false;  // its stop is not in the trace; end_ns is the end of its process
  int64_t DurationNs() const { return end_ns - start_ns; }
  template <class M, class V>
  static constexpr void Fields(M& m, V&& v) {
    v(FieldOf{"start_ns", Role::kStart}, m.start_ns);
    v(FieldOf{"end_ns", Role::kEnd}, m.end_ns);
    v(FieldOf{"process", Role::kProcess}, m.process);
    v(FieldOf{"number"}, m.number);
    v(FieldOf{"trigger"}, m.trigger);
    v(FieldOf{"end_trigger"}, m.end_trigger);
    v(FieldOf{"is_open"}, m.is_open);
  }
};

// A time in which the GPU work of a process was not recorded, as a profiler of its own recorded it.
struct GpuPause {
  int64_t start_ns = 0, end_ns = 0;
  uint32_t process = kNone;
  NameId profiler;
  bool is_open = false;  // it lasted to the end of the process
  template <class M, class V>
  static constexpr void Fields(M& m, V&& v) {
    v(FieldOf{"start_ns", Role::kStart}, m.start_ns);
    v(FieldOf{"end_ns", Role::kEnd}, m.end_ns);
    v(FieldOf{"process", Role::kProcess}, m.process);
    v(FieldOf{"profiler"}, m.profiler);
    v(FieldOf{"is_open"}, m.is_open);
  }
};

// A window of `what-if`: each instance of one thing was delayed, or none was.
struct DelayWindow {
  int64_t start_ns = 0, end_ns = 0;
  uint32_t process = kNone;
  uint32_t number = 0;  // counts the windows of the process from 1
  NameId thing;         // "launches", "range:NAME"; empty: nothing was delayed
  int64_t delay_ns = 0;
  int64_t instances = 0, inserted_ns = 0;  // delayed, and by which threads waited in all
  template <class M, class V>
  static constexpr void Fields(M& m, V&& v) {
    v(FieldOf{"start_ns", Role::kStart}, m.start_ns);
    v(FieldOf{"end_ns", Role::kEnd}, m.end_ns);
    v(FieldOf{"process", Role::kProcess}, m.process);
    v(FieldOf{"number"}, m.number);
    v(FieldOf{"thing"}, m.thing);
    v(FieldOf{"delay_ns"}, m.delay_ns);
    v(FieldOf{"instances"}, m.instances);
    v(FieldOf{"inserted_ns"}, m.inserted_ns);
  }
};

// How often a process called a CUDA function in a window with recording, or in one with less or none (profile
// --measure-overhead, record --budget).
struct WorkRate {
  int64_t start_ns = 0, end_ns = 0;  // of the counting
  uint32_t process = kNone;
  uint32_t number = 0;  // neighbours in time have neighbouring numbers
  trace::RecordLevel level = trace::RecordLevel::kNothing;
  NameId function;
  uint32_t calls = 0, threads = 0;  // that returned, and that made them
  int64_t span_ns = 0;              // from the first of them to the last
  template <class M, class V>
  static constexpr void Fields(M& m, V&& v) {
    v(FieldOf{"start_ns", Role::kStart}, m.start_ns);
    v(FieldOf{"end_ns", Role::kEnd}, m.end_ns);
    v(FieldOf{"process", Role::kProcess}, m.process);
    v(FieldOf{"number"}, m.number);
    v(FieldOf{"level"}, m.level);
    v(FieldOf{"function"}, m.function);
    v(FieldOf{"calls"}, m.calls);
    v(FieldOf{"threads"}, m.threads);
    v(FieldOf{"span_ns"}, m.span_ns);
  }
};

struct Thread {
  uint32_t process = kNone;
  uint32_t tid = 0;
  NameId name;  // its NVTX name if it has one, else its name in /proc
  template <class M, class V>
  static constexpr void Fields(M& m, V&& v) {
    v(FieldOf{"process", Role::kProcess}, m.process);
    v(FieldOf{"tid"}, m.tid);
    v(FieldOf{"name"}, m.name);
  }
};

struct Device {
  uint32_t process = kNone;        // a process that described it
  uint32_t ordinal = 0;            // number shown as gpu0, gpu1, … in metric ids
  trace::DeviceRecord properties;  // its StringIds are not usable here: see name and uuid
  NameId name, uuid;
  template <class M, class V>
  static constexpr void Fields(M& m, V&& v) {
    v(FieldOf{"process", Role::kProcess}, m.process);
    v(FieldOf{"ordinal"}, m.ordinal);
    v(FieldOf{"name"}, m.name);
    v(FieldOf{"uuid"}, m.uuid);
  }
};

struct Context {
  uint32_t process = kNone, device = kNone;
  uint32_t id = 0, null_stream = 0;
  template <class M, class V>
  static constexpr void Fields(M& m, V&& v) {
    v(FieldOf{"process", Role::kProcess}, m.process);
    v(FieldOf{"device", Role::kDevice}, m.device);
    v(FieldOf{"id"}, m.id);
    v(FieldOf{"null_stream"}, m.null_stream);
  }
};

struct Stream {
  uint32_t process = kNone, device = kNone;
  uint32_t context = 0, id = 0;
  int32_t priority = 0;
  uint64_t handle = 0;
  int64_t created_ns = 0;
  NameId name;               // given by the program through NVTX, may be empty
  uint32_t names_given = 0;  // how many NVTX names its handle was given: more than one is one stream used as several
  bool is_default = false;   // legacy default stream of its context
  bool is_created = false;   // by the program; false for default streams and those of the driver
  bool is_non_blocking = false;
  template <class M, class V>
  static constexpr void Fields(M& m, V&& v) {
    v(FieldOf{"process", Role::kProcess}, m.process);
    v(FieldOf{"device", Role::kDevice}, m.device);
    v(FieldOf{"context"}, m.context);
    v(FieldOf{"id"}, m.id);
    v(FieldOf{"priority"}, m.priority);
    v(FieldOf{"handle"}, m.handle);
    v(FieldOf{"created_ns", Role::kKnownTime}, m.created_ns);
    v(FieldOf{"name"}, m.name);
    v(FieldOf{"names_given"}, m.names_given);
    v(FieldOf{"is_default"}, m.is_default);
    v(FieldOf{"is_created"}, m.is_created);
    v(FieldOf{"is_non_blocking"}, m.is_non_blocking);
  }
};

struct NvtxMark {
  int64_t time_ns = 0;
  uint64_t payload = 0;
  uint32_t thread = kNone, domain = kNone;
  NameId name;
  uint32_t category = 0, color = 0;
  trace::PayloadType payload_type = trace::PayloadType::kNone;
  template <class M, class V>
  static constexpr void Fields(M& m, V&& v) {
    v(FieldOf{"time_ns", Role::kTime}, m.time_ns);
    v(FieldOf{"payload"}, m.payload);
    v(FieldOf{"thread", Role::kThread}, m.thread);
    v(FieldOf{"domain", Role::kDomain}, m.domain);
    v(FieldOf{"name"}, m.name);
    v(FieldOf{"category"}, m.category);
    v(FieldOf{"color"}, m.color);
    v(FieldOf{"payload_type"}, m.payload_type);
  }
};

struct NvtxDomain {
  uint32_t process = kNone;
  uint32_t id = 0;
  NameId name;  // empty for the default domain
  template <class M, class V>
  static constexpr void Fields(M& m, V&& v) {
    v(FieldOf{"process", Role::kProcess}, m.process);
    v(FieldOf{"id"}, m.id);
    v(FieldOf{"name"}, m.name);
  }
};

struct NvtxCategory {
  uint32_t domain = kNone, id = 0;
  NameId name;
  template <class M, class V>
  static constexpr void Fields(M& m, V&& v) {
    v(FieldOf{"domain", Role::kDomain}, m.domain);
    v(FieldOf{"id"}, m.id);
    v(FieldOf{"name"}, m.name);
  }
};

// One entry of a payload: "Message size [bytes]" = 4096.
struct PayloadValue {
  NameId key;   // of nested schemas "outer.inner"
  NameId text;  // what it is, name of an enumeration's value; empty for a plain integer
  int64_t integer = 0;
  bool is_integer = false;  // `integer` holds the value
  template <class M, class V>
  static constexpr void Fields(M& m, V&& v) {
    v(FieldOf{"key"}, m.key);
    v(FieldOf{"text"}, m.text);
    v(FieldOf{"integer"}, m.integer);
    v(FieldOf{"is_integer"}, m.is_integer);
  }
};

// What a program attached to an NVTX event by a schema, decoded.
struct NvtxPayload {
  int64_t time_ns = 0;
  uint32_t thread = kNone, domain = kNone;
  uint32_t range = kNone;                    // the range it is attached to (its begin or its end), or
  uint32_t mark = kNone;                     // the mark
  uint32_t first_value = 0, last_value = 0;  // [first, last) of payload_values
  uint32_t size_bytes = 0;                   // of the raw bytes, which `dump` shows
  NameId schema;                             // name of the schema, may be empty
  trace::NvtxEvent event{};
  template <class M, class V>
  static constexpr void Fields(M& m, V&& v) {
    v(FieldOf{"time_ns", Role::kTime}, m.time_ns);
    v(FieldOf{"thread", Role::kThread}, m.thread);
    v(FieldOf{"domain", Role::kDomain}, m.domain);
    v(FieldOf{"range", Role::kRange}, m.range);
    v(FieldOf{"mark", Role::kMark}, m.mark);
    v(FieldOf{"first_value", Role::kPayloadValue}, m.first_value);
    v(FieldOf{"last_value", Role::kPayloadValue}, m.last_value);
    v(FieldOf{"size_bytes"}, m.size_bytes);
    v(FieldOf{"schema"}, m.schema);
    v(FieldOf{"event"}, m.event);
  }
};

// A node of a CUDA graph, and the code that made it.
struct GraphNode {
  uint64_t id = 0;           // operations name it as graph_node
  uint64_t original_id = 0;  // node that it is a clone of, 0 for none
  int64_t time_ns = 0;
  uint32_t process = kNone, thread = kNone;
  uint32_t graph = 0;
  uint32_t source = kNone;  // the node at the other end of the clones, itself where it is none; kNone: not recorded
  uint32_t api = kNone;     // outermost call that made it
  uint32_t range = kNone;   // innermost push/pop NVTX range of the thread then
  uint8_t node_type = 0;    // CUgraphNodeType
  uint32_t stack = kNone;   // of the code that made it
  NameId place;             // modules or NVTX ranges that it was made in, outermost first: "A / B"
  template <class M, class V>
  static constexpr void Fields(M& m, V&& v) {
    v(FieldOf{"id"}, m.id);
    v(FieldOf{"original_id", Role::kKnown}, m.original_id);
    v(FieldOf{"time_ns", Role::kTime}, m.time_ns);
    v(FieldOf{"process", Role::kProcess}, m.process);
    v(FieldOf{"thread", Role::kThread}, m.thread);
    v(FieldOf{"graph", Role::kKnown}, m.graph);
    v(FieldOf{"source", Role::kGraphNode}, m.source);
    v(FieldOf{"api", Role::kCall}, m.api);
    v(FieldOf{"range", Role::kRange}, m.range);
    v(FieldOf{"node_type"}, m.node_type);
    v(FieldOf{"stack", Role::kStack}, m.stack);
    v(FieldOf{"place"}, m.place);
  }
};

// A CUDA event recorded into a stream.
struct EventRecord {
  int64_t time_ns = 0;
  uint64_t event = 0;  // its handle
  uint32_t process = kNone, thread = kNone, api = kNone, stream = kNone;
  template <class M, class V>
  static constexpr void Fields(M& m, V&& v) {
    v(FieldOf{"time_ns", Role::kTime}, m.time_ns);
    v(FieldOf{"event", Role::kKnown}, m.event);
    v(FieldOf{"process", Role::kProcess}, m.process);
    v(FieldOf{"thread", Role::kThread}, m.thread);
    v(FieldOf{"api", Role::kCall}, m.api);
    v(FieldOf{"stream", Role::kStream}, m.stream);
  }
};

struct Sync {
  int64_t start_ns = 0, end_ns = 0;
  uint32_t thread = kNone, process = kNone;
  uint32_t api = kNone;
  uint32_t stream = kNone;  // kNone when not known or the whole context
  uint64_t event = 0;
  trace::SyncKind kind = trace::SyncKind::kUnknown;
  int64_t DurationNs() const { return end_ns - start_ns; }
  template <class M, class V>
  static constexpr void Fields(M& m, V&& v) {
    v(FieldOf{"start_ns", Role::kStart}, m.start_ns);
    v(FieldOf{"end_ns", Role::kEnd}, m.end_ns);
    v(FieldOf{"thread", Role::kThread}, m.thread);
    v(FieldOf{"process", Role::kProcess}, m.process);
    v(FieldOf{"api", Role::kCall}, m.api);
    v(FieldOf{"stream", Role::kStream}, m.stream);
    v(FieldOf{"event", Role::kKnown}, m.event);
    v(FieldOf{"kind"}, m.kind);
  }
};

struct Overhead {
  int64_t start_ns = 0, end_ns = 0;
  uint32_t process = kNone, thread = kNone;
  uint32_t kind = 0;  // CUpti_ActivityOverheadKind
  template <class M, class V>
  static constexpr void Fields(M& m, V&& v) {
    v(FieldOf{"start_ns", Role::kStart}, m.start_ns);
    v(FieldOf{"end_ns", Role::kEnd}, m.end_ns);
    v(FieldOf{"process", Role::kProcess}, m.process);
    v(FieldOf{"thread", Role::kThread}, m.thread);
    v(FieldOf{"kind"}, m.kind);
  }
};

struct Jit {
  int64_t start_ns = 0, end_ns = 0;
  uint32_t process = kNone, device = kNone, thread = kNone;
  uint8_t entry_kind = 0, operation = 0;
  uint64_t cache_bytes = 0;
  template <class M, class V>
  static constexpr void Fields(M& m, V&& v) {
    v(FieldOf{"start_ns", Role::kStart}, m.start_ns);
    v(FieldOf{"end_ns", Role::kEnd}, m.end_ns);
    v(FieldOf{"process", Role::kProcess}, m.process);
    v(FieldOf{"device", Role::kDevice}, m.device);
    v(FieldOf{"thread", Role::kThread}, m.thread);
    v(FieldOf{"entry_kind"}, m.entry_kind);
    v(FieldOf{"operation"}, m.operation);
    v(FieldOf{"cache_bytes"}, m.cache_bytes);
  }
};

struct MemoryEvent {
  int64_t time_ns = 0;
  uint64_t address = 0, size_bytes = 0;
  uint64_t pool = 0;  // address of its memory pool, 0 for none
  uint32_t process = kNone, device = kNone, stream = kNone, api = kNone;
  trace::MemoryOp operation = trace::MemoryOp::kAllocate;
  trace::MemoryKind memory = trace::MemoryKind::kUnknown;
  bool is_async = false;
  template <class M, class V>
  static constexpr void Fields(M& m, V&& v) {
    v(FieldOf{"time_ns", Role::kTime}, m.time_ns);
    v(FieldOf{"address"}, m.address);
    v(FieldOf{"size_bytes"}, m.size_bytes);
    v(FieldOf{"pool", Role::kKnown}, m.pool);
    v(FieldOf{"process", Role::kProcess}, m.process);
    v(FieldOf{"device", Role::kDevice}, m.device);
    v(FieldOf{"stream", Role::kStream}, m.stream);
    v(FieldOf{"api", Role::kCall}, m.api);
    v(FieldOf{"operation"}, m.operation);
    v(FieldOf{"memory"}, m.memory);
    v(FieldOf{"is_async"}, m.is_async);
  }
};

// A migration or page fault of managed memory.
struct ManagedMemory {
  int64_t start_ns = 0, end_ns = 0;
  uint64_t value = 0;  // bytes of a migration, pages of a fault
  uint64_t address = 0;
  uint32_t process = kNone;
  uint32_t source = kNone, destination = kNone;  // devices, kNone for the host and for devices not in the trace
  uint32_t stream = kNone;
  uint32_t flags = 0;  // access type or cause, as CUPTI has them
  trace::ManagedKind kind = trace::ManagedKind::kUnknown;
  int64_t DurationNs() const { return end_ns - start_ns; }
  template <class M, class V>
  static constexpr void Fields(M& m, V&& v) {
    v(FieldOf{"start_ns", Role::kStart}, m.start_ns);
    v(FieldOf{"end_ns", Role::kEnd}, m.end_ns);
    v(FieldOf{"value"}, m.value);
    v(FieldOf{"address"}, m.address);
    v(FieldOf{"process", Role::kProcess}, m.process);
    v(FieldOf{"source", Role::kDevice}, m.source);
    v(FieldOf{"destination", Role::kDevice}, m.destination);
    v(FieldOf{"stream", Role::kStream}, m.stream);
    v(FieldOf{"flags"}, m.flags);
    v(FieldOf{"kind"}, m.kind);
  }
};

// A memory pool was made, trimmed or destroyed.
struct MemoryPoolEvent {
  int64_t time_ns = 0;
  uint64_t pool = 0, size_bytes = 0, used_bytes = 0, release_threshold_bytes = 0, keep_bytes = 0;
  uint32_t process = kNone, device = kNone, api = kNone;
  trace::PoolOp operation = trace::PoolOp::kCreate;
  bool is_imported = false;
  template <class M, class V>
  static constexpr void Fields(M& m, V&& v) {
    v(FieldOf{"time_ns", Role::kTime}, m.time_ns);
    v(FieldOf{"pool"}, m.pool);
    v(FieldOf{"size_bytes"}, m.size_bytes);
    v(FieldOf{"used_bytes"}, m.used_bytes);
    v(FieldOf{"release_threshold_bytes"}, m.release_threshold_bytes);
    v(FieldOf{"keep_bytes"}, m.keep_bytes);
    v(FieldOf{"process", Role::kProcess}, m.process);
    v(FieldOf{"device", Role::kDevice}, m.device);
    v(FieldOf{"api", Role::kCall}, m.api);
    v(FieldOf{"operation"}, m.operation);
    v(FieldOf{"is_imported"}, m.is_imported);
  }
};

struct Clock {
  uint32_t process = kNone;
  trace::ClockRecord anchor;
  template <class M, class V>
  static constexpr void Fields(M& m, V&& v) {
    v(FieldOf{"process", Role::kProcess}, m.process);
    v(FieldOf{"monotonic_ns", Role::kTime}, m.anchor.monotonic_ns);
  }
};

struct Loss {
  uint32_t process = kNone;
  trace::LossReason reason{};
  uint32_t kind = 0;  // RecordKind, 0 when not known
  uint64_t count = 0;
  int64_t time_ns = 0;
  template <class M, class V>
  static constexpr void Fields(M& m, V&& v) {
    v(FieldOf{"process", Role::kProcess}, m.process);
    v(FieldOf{"reason"}, m.reason);
    v(FieldOf{"kind", Role::kKnown}, m.kind);
    v(FieldOf{"count"}, m.count);
    v(FieldOf{"time_ns", Role::kKnownTime}, m.time_ns);
  }
};

struct Notice {
  uint32_t process = kNone;
  int64_t time_ns = 0;
  trace::NoticeLevel level = trace::NoticeLevel::kInfo;
  NameId message;
  template <class M, class V>
  static constexpr void Fields(M& m, V&& v) {
    v(FieldOf{"process", Role::kProcess}, m.process);
    v(FieldOf{"time_ns", Role::kKnownTime}, m.time_ns);
    v(FieldOf{"level"}, m.level);
    v(FieldOf{"message"}, m.message);
  }
};

// What is wrong with the trace itself. Every count is printed with the results that it makes doubtful.
struct TraceHealth {
  uint64_t file_bytes = 0;
  uint64_t chunks = 0;                // read whole
  uint64_t damaged_chunks = 0;        // a header without a good body
  uint64_t skipped_bytes = 0;         // bytes that belong to no chunk
  uint64_t missing_chunks = 0;        // holes in the sequence numbers of a process
  uint64_t unknown_chunks = 0;        // of a kind or version that this build does not know
  uint64_t unknown_records = 0;       // records in those, as their headers say
  uint64_t lost_records = 0;          // sum of the loss records
  uint64_t unmatched_launches = 0;    // launching calls without their GPU operation
  uint64_t unmatched_ops = 0;         // GPU operations without their call
  uint64_t bad_times = 0;             // operations without usable times, left out of the model
  uint64_t early_ops = 0;             // operations that seem to start before their call
  int64_t worst_early_ns = 0;         // by how much at most: clocks of GPU and host differ by that
  uint64_t unmatched_nvtx_ends = 0;   // pops and ends without their start
  uint64_t open_ranges = 0;           // ranges never ended
  uint64_t unfinished_processes = 0;  // processes without an end record
  uint64_t salvaged_processes = 0;    // that died, and whose memory the launcher wrote into the trace
  uint64_t unfinished_gpu_work = 0;   // processes that ended, and whose last GPU work may be missing
  uint64_t gpu_pauses = 0;            // times in which the program's own profiler recorded GPU work in our place
  uint64_t ops_from_before = 0;       // operations launched before the capture that they ran in
  uint64_t missing_strings = 0;       // ids without their text, or what else they name
  uint64_t duplicate_chunks = 0;      // a sequence number seen twice
  bool is_truncated = false;          // the file ends within a chunk
  // Nothing is known to be missing: what the gates may rely on.
  bool IsComplete() const {
    return damaged_chunks == 0 && skipped_bytes == 0 && missing_chunks == 0 && unknown_chunks == 0 &&
           lost_records == 0 && bad_times == 0 && unfinished_processes == 0 && unfinished_gpu_work == 0 &&
           gpu_pauses == 0 && !is_truncated;
  }
};

// The time of a device that a selection of time leaves, and what came next, beyond it.
struct DeviceWindow {
  Interval time;
  GpuOp next;         // api is kNone, name and device are good
  ApiCall next_call;  // the call of the program that launched it
  bool has_next = false, has_next_call = false;
};

// What a trace says of its run besides the records: processes, threads and GPUs, and what is missing. Results that
// stand for the records of a trace have it as well.
struct TraceHead {
  std::string path;
  std::string recorder;              // the tool that recorded it, with its version; empty for gprof-cli
  FactSet lacks = FactSet::None();   // what its reader says that it does not tell
  std::vector<std::string> strings;  // [0] is empty
  std::vector<Process> processes;
  std::vector<Capture> captures;     // sorted by process, then start; those of a process do not overlap
  std::vector<BaseTime> base_times;  // sorted by start
  std::vector<Thread> threads;
  std::vector<Device> devices;  // sorted by ordinal
  std::vector<Clock> clocks;
  std::vector<Loss> losses;
  std::vector<Notice> notices;
  TraceHealth health;
  uint64_t record_count = 0;         // records read, dictionaries left out
  int64_t start_ns = 0, end_ns = 0;  // first and last time of anything

  std::string_view Text(NameId id) const { return strings[id.value]; }
  bool Lacks(Fact fact) const { return lacks.Has(fact); }
  // Captures of a process are neighbours in their vector, as are API calls and ranges of a thread; these are
  // [first, last) of each.
  struct Slice {
    uint32_t first = 0, last = 0;
  };
  std::vector<Slice> process_captures;  // one for each process
};

struct Trace : TraceHead {
  std::vector<Context> contexts;
  std::vector<Stream> streams;
  std::vector<trace::KernelShapeRecord> shapes;
  PackedOps ops;                // sorted by device, then start, then end
  PackedCalls api_calls;        // sorted by thread, then start (parents before children)
  PackedRanges ranges;          // sorted by thread, then start (parents before children)
  std::vector<NvtxMark> marks;  // sorted by time
  std::vector<NvtxDomain> domains;
  std::vector<NvtxCategory> categories;
  std::vector<NvtxPayload> payloads;  // sorted by time
  std::vector<PayloadValue> payload_values;
  std::vector<GraphNode> graph_nodes;         // sorted by process, then id
  std::vector<EventRecord> event_records;     // sorted by time
  std::vector<Sync> syncs;                    // sorted by start
  std::vector<Overhead> overheads;            // sorted by start
  std::vector<Jit> jits;                      // sorted by start
  std::vector<MemoryEvent> memory_events;     // sorted by time
  std::vector<ManagedMemory> managed_memory;  // sorted by start
  std::vector<MemoryPoolEvent> memory_pools;  // sorted by time
  std::vector<Module> modules;
  std::vector<Frame> frames;
  std::vector<StackNode> stacks;             // callers before what they call
  std::vector<Symbol> symbols;               // sorted by frame, then depth
  std::vector<CpuSample> cpu_samples;        // sorted by time
  std::vector<ThreadSwitch> switches;        // sorted by start
  std::vector<OsCall> os_calls;              // sorted by start
  std::vector<MpiCall> mpi_calls;            // sorted by start
  std::vector<Gemm> gemms;                   // sorted by start
  std::vector<TensorBlock> tensor_blocks;    // sorted by time
  std::vector<Collective> collectives;       // sorted by start
  std::vector<NcclTransfer> nccl_transfers;  // sorted by start
  std::vector<Directive> directives;         // sorted by start
  std::vector<GpuPause> gpu_pauses;          // sorted by start
  std::vector<BaseCall> base_calls;          // sorted by start
  std::vector<BaseGraph> base_graphs;        // sorted by start
  std::vector<InProgress> in_progress;       // sorted by time
  std::vector<WorkRate> work_rates;          // sorted by start
  std::vector<DelayWindow> delay_windows;    // sorted by start
  std::vector<RequestEvent> request_events;  // sorted by time
  std::vector<EngineStep> engine_steps;      // sorted by start
  std::vector<StepRequest> step_requests;    // sorted by time
  std::vector<GeneratedLines> generated_lines;
  std::vector<Calibration> calibrations;
  std::vector<MetricSource> metric_sources;
  std::vector<MetricSample> metric_samples;  // sorted by source, then start
  std::vector<MetricLoss> metric_losses;     // sorted by start
  std::vector<CounterPlan> counter_plans;
  std::vector<CounterRange> counter_ranges;
  std::vector<CounterValue> counter_values;  // sorted by range
  std::vector<PcSample> pc_samples;
  std::vector<Instruction> instructions;
  std::vector<DeviceWindow> device_windows;  // one for each device; empty: from the first to the last operation

  // The functions at a frame, the innermost first; those that were inlined there, and the one that they are in.
  std::span<const Symbol> SymbolsOf(uint32_t frame) const;
  std::span<const MetricSample> SamplesOf(uint32_t metric_source) const;
  std::span<const CounterValue> CountersOf(uint32_t counter_range) const;
  // The number that ties an operation to its call.
  uint32_t CorrelationOf(const GpuOp& op) const {
    return op.api == kNone ? op.correlation : api_calls.Correlation(op.api);
  }
  std::vector<Slice> thread_api_calls;  // one for each thread
  std::vector<Slice> thread_ranges;     // one for each thread
  std::vector<Slice> device_ops;        // one for each device

  // Sixty vectors are copied, moved and destroyed in one file, not in each that has a trace.
  Trace();
  Trace(const Trace&);
  Trace(Trace&&) noexcept;
  Trace& operator=(const Trace&);
  Trace& operator=(Trace&&) noexcept;
  ~Trace();
};

// Reads a trace file of ours. Damage is counted in `health`, never thrown; what is thrown is Error: no such file, not a
// trace, too new. Implemented in src/trace/load/load.cpp.
Trace LoadTrace(const std::string& path);
Trace LoadTraceFromMemory(std::string_view bytes, const std::string& path);

}  // namespace gprof
