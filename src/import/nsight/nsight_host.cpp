// What the host did: CUDA calls, synchronisation, events, allocations, and what the recording cost.
#include <string>
#include <string_view>

#include "base/text.h"
#include "import/nsight/nsight_import.h"
#include "import/nsight/nsight_values.h"
#include "trace/model/api_class.h"

namespace gprof {
namespace {

constexpr int64_t kRuntimeClass = 0;  // ENUM_NSYS_EVENT_CLASS

// "cudaMalloc_v3020" is cudaMalloc, as reports of Nsight Systems and our own traces have it; the driver's cuMemAlloc_v2
// is a function of its own.
std::string_view WithoutCudaVersion(std::string_view function) {
  constexpr std::size_t kFewestDigits = 4;
  const std::size_t mark = function.rfind("_v");
  if (mark == std::string_view::npos || !function.starts_with("cuda")) return function;
  const std::string_view version = function.substr(mark + 2);
  const bool is_version =
      version.size() >= kFewestDigits && version.find_first_not_of("0123456789") == std::string_view::npos;
  return is_version ? function.substr(0, mark) : function;
}

// What ENUM_CUPTI_OVERHEAD_TYPE numbers, as CUPTI numbers it.
constexpr uint32_t kOverheadKinds[] = {0, 0, 1, 1u << 16, 2u << 16, 3u << 16, 4u << 16, 5u << 16, 6u << 16};

// Exports before that column have the name alone.
uint32_t OverheadKindOf(std::string_view name) {
  if (Contains(name, "uffer flush")) return 1u << 16;
  if (Contains(name, "nstrumentation")) return 2u << 16;
  if (Contains(name, "esource")) return 3u << 16;
  if (Contains(name, "ompiler")) return 1;
  return 0;
}

}  // namespace

void NsightImport::ReadCalls(std::string_view table) {
  static constexpr Columns kColumns{"start",  "end",         "globalTid", "correlationId",
                                    "nameId", "returnValue", "eventClass"};
  SqliteRows rows(file_, table, kColumns);
  std::vector<uint8_t> classes;  // ApiClass + 1, by text
  while (rows.Next()) {
    Enter(rows, kColumns["globalTid"]);
    trace::ApiRecord r;
    r.tid = ThreadOf(rows.Int(kColumns["globalTid"]));
    r.correlation = rows.Int32(kColumns["correlationId"]);
    r.result = static_cast<int32_t>(rows.Int(kColumns["returnValue"]));
    const uint32_t text = rows.IsNull(kColumns["nameId"]) ? 0 : FunctionOf(rows.Int(kColumns["nameId"]));
    if (!TakeSpan(rows, &r)) continue;
    r.function = builder_.Name(text);
    const std::string_view function = builder_.TextOf(text);
    // Exports of 2020 have no classes; what is exported of other GPUs has other names.
    const bool is_runtime = rows.IsNull(kColumns["eventClass"]) ? function.starts_with("cuda")
                                                                : rows.Int(kColumns["eventClass"]) == kRuntimeClass;
    r.domain = static_cast<uint8_t>(is_runtime ? trace::ApiDomain::kRuntime : trace::ApiDomain::kDriver);
    NoteThread(r.tid);
    builder_.Add(r);
    ++call_count_;
    if (text >= classes.size()) classes.resize(text + 1);
    if (classes[text] == 0) classes[text] = static_cast<uint8_t>(static_cast<uint8_t>(ClassifyApi(function)) + 1);
    NoteCall(r, function, static_cast<ApiClass>(classes[text] - 1));
  }
}

// The text of a function's name.
uint32_t NsightImport::FunctionOf(int64_t string_id) {
  const auto [at, is_new] = functions_.try_emplace(string_id, 0);
  if (is_new) {
    const std::string function(builder_.TextOf(TextOf(string_id)));
    at->second = builder_.Text(WithoutCudaVersion(function));
  }
  return at->second;
}

// Launches are most of all calls, and no record needs them.
void NsightImport::NoteCall(const trace::ApiRecord& r, std::string_view function, ApiClass api_class) {
  switch (api_class) {
    case ApiClass::kSync:
      ++sync_call_count_;
      break;
    case ApiClass::kEvent:
      if (Contains(function, "EventRecord")) ++event_call_count_;
      break;
    case ApiClass::kMemory:
      if (Contains(function, "lloc")) ++memory_call_count_;
      break;
    case ApiClass::kCopy:
    case ApiClass::kMemset:
    case ApiClass::kStream:
      break;
    default:
      return;
  }
  uint32_t& at = calls_(builder_.process(), r.correlation);
  if (at == kNone) {
    at = static_cast<uint32_t>(linked_calls_.size());
    linked_calls_.push_back({r.start_ns, r.tid, Contains(function, "Async"), SyncKindOf(function)});
  }
}

void NsightImport::ReadSyncs() {
  constexpr std::string_view kTable = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION";
  static constexpr Columns kColumns{"start",         "end",       "contextId", "streamId",
                                    "correlationId", "globalPid", "syncType",  "eventId"};
  SqliteRows rows(file_, kTable, kColumns);
  while (rows.Next()) {
    Enter(rows, kColumns["globalPid"]);
    trace::SyncRecord r;
    r.sync_kind = static_cast<uint8_t>(rows.Int32(kColumns["syncType"]));
    r.correlation = rows.Int32(kColumns["correlationId"]);
    r.context = rows.Int32(kColumns["contextId"]);
    r.stream = OrNone(rows.Int32(kColumns["streamId"]));
    r.event = rows.Unsigned(kColumns["eventId"]);
    if (!TakeSpan(rows, &r)) continue;
    ++sync_count_;
    const LinkedCall* const call = FindCall(r.correlation);
    if (call == nullptr) {
      ++syncs_without_call_;
      continue;
    }
    r.tid = call->tid;
    if (call->sync_kind != trace::SyncKind::kUnknown) r.sync_kind = static_cast<uint8_t>(call->sync_kind);
    builder_.Add(r);
  }
}

void NsightImport::ReadEvents() {
  constexpr std::string_view kTable = "CUPTI_ACTIVITY_KIND_CUDA_EVENT";
  static constexpr Columns kColumns{"contextId", "streamId", "correlationId", "globalPid", "eventId"};
  SqliteRows rows(file_, kTable, kColumns);
  while (rows.Next()) {
    Enter(rows, kColumns["globalPid"]);
    trace::EventRecordRecord r;
    r.correlation = rows.Int32(kColumns["correlationId"]);
    r.context = rows.Int32(kColumns["contextId"]);
    r.stream = OrNone(rows.Int32(kColumns["streamId"]));
    r.event = rows.Unsigned(kColumns["eventId"]);
    if (!IsGood(rows)) continue;
    // The rows have the time of the event on the GPU, or 0; the model has that of the call.
    const LinkedCall* const call = FindCall(r.correlation);
    if (call == nullptr) continue;
    r.time_ns = call->start_ns;
    r.tid = call->tid;
    builder_.Add(r);
  }
}

void NsightImport::ReadMemory() {
  constexpr std::string_view kTable = "CUDA_GPU_MEMORY_USAGE_EVENTS";
  static constexpr Columns kColumns{"start",
                                    "globalPid",
                                    "deviceId",
                                    "contextId",
                                    "streamId",
                                    "address",
                                    "bytes",
                                    "memKind",
                                    "memoryOperationType",
                                    "correlationId",
                                    "localMemoryPoolAddress"};
  SqliteRows rows(file_, kTable, kColumns);
  while (rows.Next()) {
    Enter(rows, kColumns["globalPid"]);
    trace::MemoryRecord r;
    r.device = rows.Int32(kColumns["deviceId"]);
    r.context = OrNone(rows.Int32(kColumns["contextId"]));
    r.stream = OrNone(rows.Int32(kColumns["streamId"]));
    r.address = rows.Unsigned(kColumns["address"]);
    r.size_bytes = rows.Unsigned(kColumns["bytes"]);
    r.memory = MemoryKindOf(rows.Int(kColumns["memKind"], -1));
    const int64_t operation = rows.Int(kColumns["memoryOperationType"]);
    r.operation = static_cast<uint8_t>(operation == 1 ? trace::MemoryOp::kFree : trace::MemoryOp::kAllocate);
    r.correlation = rows.Int32(kColumns["correlationId"]);
    r.pool = rows.Unsigned(kColumns["localMemoryPoolAddress"]);
    if (!TakeTime(rows, kColumns["start"], &r.time_ns)) continue;
    const LinkedCall* const call = FindCall(r.correlation);
    r.is_async = call != nullptr && call->is_async ? 1 : 0;
    NoteDevice(r.device);
    builder_.Add(r);
  }
}

void NsightImport::ReadMemoryPools() {
  constexpr std::string_view kTable = "CUDA_GPU_MEMORY_POOL_EVENTS";
  constexpr int64_t kImported = 2;  // ENUM_CUDA_MEMPOOL_TYPE
  static constexpr Columns kColumns{"start",
                                    "globalPid",
                                    "deviceId",
                                    "address",
                                    "operationType",
                                    "poolType",
                                    "correlationId",
                                    "minBytesToKeep",
                                    "localMemoryPoolReleaseThreshold",
                                    "localMemoryPoolSize",
                                    "localMemoryPoolUtilizedSize"};
  SqliteRows rows(file_, kTable, kColumns);
  while (rows.Next()) {
    Enter(rows, kColumns["globalPid"]);
    trace::MemoryPoolRecord r;
    r.device = rows.Int32(kColumns["deviceId"]);
    r.pool = rows.Unsigned(kColumns["address"]);
    r.operation = static_cast<uint8_t>(rows.Int32(kColumns["operationType"]) & 0xFF);
    r.is_imported = rows.Int(kColumns["poolType"]) == kImported ? 1 : 0;
    r.correlation = rows.Int32(kColumns["correlationId"]);
    r.keep_bytes = rows.Unsigned(kColumns["minBytesToKeep"]);
    r.release_threshold_bytes = rows.Unsigned(kColumns["localMemoryPoolReleaseThreshold"]);
    r.size_bytes = rows.Unsigned(kColumns["localMemoryPoolSize"]);
    r.used_bytes = rows.Unsigned(kColumns["localMemoryPoolUtilizedSize"]);
    if (!TakeTime(rows, kColumns["start"], &r.time_ns)) continue;
    NoteDevice(r.device);
    builder_.Add(r);
  }
}

void NsightImport::ReadFaults() {
  if (file_.HasTable("CUDA_UM_CPU_PAGE_FAULT_EVENTS")) {
    constexpr std::string_view kColumns[] = {"start", "globalPid", "address"};
    SqliteRows rows(file_, "CUDA_UM_CPU_PAGE_FAULT_EVENTS", kColumns);
    while (rows.Next()) {
      Enter(rows, 1);
      trace::ManagedMemoryRecord r;
      r.managed_kind = static_cast<uint8_t>(trace::ManagedKind::kCpuPageFaults);
      r.value = 1;
      r.address = rows.Unsigned(2);
      r.source = r.destination = kNone;
      if (TakeTime(rows, 0, &r.start_ns)) builder_.Add(r);
    }
  }
  static constexpr Columns kColumns{"start",          "end", "globalPid", "deviceId", "address", "numberOfPageFaults",
                                    "faultAccessType"};
  SqliteRows rows(file_, "CUDA_UM_GPU_PAGE_FAULT_EVENTS", kColumns);
  while (rows.Next()) {
    Enter(rows, kColumns["globalPid"]);
    trace::ManagedMemoryRecord r;
    r.managed_kind = static_cast<uint8_t>(trace::ManagedKind::kGpuPageFault);
    r.value = rows.Unsigned(kColumns["numberOfPageFaults"]);
    r.address = rows.Unsigned(kColumns["address"]);
    r.flags = rows.Int32(kColumns["faultAccessType"]);
    r.source = r.destination = rows.Int32(kColumns["deviceId"]);
    if (!TakeSpan(rows, &r)) continue;
    NoteDevice(r.source);
    builder_.Add(r);
  }
}

void NsightImport::ReadOverheads(std::string_view table) {
  static constexpr Columns kColumns{"start", "end", "globalTid", "nameId", "overheadType", "correlationId"};
  SqliteRows rows(file_, table, kColumns);
  while (rows.Next()) {
    // Threads of the tool's own, in processes that did nothing with CUDA, are no part of the program.
    if (!processes_.contains(rows.Int(kColumns["globalTid"]) >> kGlobalThreadBits)) continue;
    Enter(rows, kColumns["globalTid"]);
    trace::OverheadRecord r;
    r.tid = ThreadOf(rows.Int(kColumns["globalTid"]));
    r.correlation = rows.Int32(kColumns["correlationId"]);
    const uint32_t type = rows.Int32(kColumns["overheadType"]);
    if (rows.Has(kColumns["overheadType"])) {
      r.overhead_kind = type < std::size(kOverheadKinds) ? kOverheadKinds[type] : 0;
    } else if (!rows.IsNull(kColumns["nameId"])) {
      r.overhead_kind = OverheadKindOf(builder_.TextOf(TextOf(rows.Int(kColumns["nameId"]))));
    }
    if (!TakeSpan(rows, &r)) continue;
    NoteThread(r.tid);
    builder_.Add(r);
  }
}

void NsightImport::ReadJits() {
  constexpr std::string_view kTable = "CUPTI_ACTIVITY_KIND_JIT";
  static constexpr Columns kColumns{"start",    "end",      "globalTid", "jitEntryType", "jitOperationType",
                                    "deviceId", "cacheSize"};
  SqliteRows rows(file_, kTable, kColumns);
  while (rows.Next()) {
    Enter(rows, kColumns["globalTid"]);
    trace::JitRecord r;
    r.tid = ThreadOf(rows.Int(kColumns["globalTid"]));
    r.entry_kind = static_cast<uint8_t>(rows.Int32(kColumns["jitEntryType"]) & 0xFF);
    r.operation = static_cast<uint8_t>(rows.Int32(kColumns["jitOperationType"]) & 0xFF);
    r.device = rows.Int32(kColumns["deviceId"]);
    r.cache_bytes = rows.Unsigned(kColumns["cacheSize"]);
    if (!TakeSpan(rows, &r)) continue;
    NoteThread(r.tid);
    if (!rows.IsNull(kColumns["deviceId"])) NoteDevice(r.device);
    builder_.Add(r);
  }
}

}  // namespace gprof
