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
  if (!file_.HasTable(table)) return;
  enum Column : std::size_t { kStart, kEnd, kThread, kCorrelation, kName, kReturn, kClass };
  constexpr std::string_view kColumns[] = {"start",  "end",         "globalTid", "correlationId",
                                           "nameId", "returnValue", "eventClass"};
  SqliteRows rows(file_, table, kColumns);
  std::vector<uint8_t> classes;  // ApiClass + 1, by text
  while (rows.Next()) {
    Enter(rows, kThread);
    trace::ApiRecord r;
    Span span;
    r.tid = ThreadOf(rows.Int(kThread));
    r.correlation = rows.Int32(kCorrelation);
    r.result = static_cast<int32_t>(rows.Int(kReturn));
    const uint32_t text = rows.IsNull(kName) ? 0 : FunctionOf(rows.Int(kName));
    if (!TakeSpan(rows, kStart, kEnd, &span)) continue;
    r.start_ns = span.start_ns;
    r.duration_ns = span.duration_ns;
    r.function = builder_.Name(text);
    const std::string_view function = builder_.TextOf(text);
    // Exports of 2020 have no classes; what is exported of other GPUs has other names.
    const bool is_runtime = rows.IsNull(kClass) ? function.starts_with("cuda") : rows.Int(kClass) == kRuntimeClass;
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
  if (!file_.HasTable(kTable)) return;
  enum Column : std::size_t { kStart, kEnd, kContext, kStream, kCorrelation, kProcess, kType, kEvent };
  constexpr std::string_view kColumns[] = {"start",         "end",       "contextId", "streamId",
                                           "correlationId", "globalPid", "syncType",  "eventId"};
  SqliteRows rows(file_, kTable, kColumns);
  while (rows.Next()) {
    Enter(rows, kProcess);
    trace::SyncRecord r;
    Span span;
    r.sync_kind = static_cast<uint8_t>(rows.Int32(kType));
    r.correlation = rows.Int32(kCorrelation);
    r.context = rows.Int32(kContext);
    r.stream = OrNone(rows.Int32(kStream));
    r.event = rows.Unsigned(kEvent);
    if (!TakeSpan(rows, kStart, kEnd, &span)) continue;
    ++sync_count_;
    const LinkedCall* const call = FindCall(r.correlation);
    if (call == nullptr) {
      ++syncs_without_call_;
      continue;
    }
    r.start_ns = span.start_ns;
    r.duration_ns = span.duration_ns;
    r.tid = call->tid;
    if (call->sync_kind != trace::SyncKind::kUnknown) r.sync_kind = static_cast<uint8_t>(call->sync_kind);
    builder_.Add(r);
  }
}

void NsightImport::ReadEvents() {
  constexpr std::string_view kTable = "CUPTI_ACTIVITY_KIND_CUDA_EVENT";
  if (!file_.HasTable(kTable)) return;
  enum Column : std::size_t { kContext, kStream, kCorrelation, kProcess, kEvent };
  constexpr std::string_view kColumns[] = {"contextId", "streamId", "correlationId", "globalPid", "eventId"};
  SqliteRows rows(file_, kTable, kColumns);
  while (rows.Next()) {
    Enter(rows, kProcess);
    trace::EventRecordRecord r;
    r.correlation = rows.Int32(kCorrelation);
    r.context = rows.Int32(kContext);
    r.stream = OrNone(rows.Int32(kStream));
    r.event = rows.Unsigned(kEvent);
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
  if (!file_.HasTable(kTable)) return;
  enum Column : std::size_t {
    kStart,
    kProcess,
    kDevice,
    kContext,
    kStream,
    kAddress,
    kBytes,
    kKind,
    kOperation,
    kCorrelation,
    kPool
  };
  constexpr std::string_view kColumns[] = {"start",
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
    Enter(rows, kProcess);
    trace::MemoryRecord r;
    r.device = rows.Int32(kDevice);
    r.context = OrNone(rows.Int32(kContext));
    r.stream = OrNone(rows.Int32(kStream));
    r.address = rows.Unsigned(kAddress);
    r.size_bytes = rows.Unsigned(kBytes);
    r.memory = MemoryKindOf(rows.IsNull(kKind) ? -1 : rows.Int(kKind));
    const int64_t operation = rows.Int(kOperation);
    r.operation = static_cast<uint8_t>(operation == 1 ? trace::MemoryOp::kFree : trace::MemoryOp::kAllocate);
    r.correlation = rows.Int32(kCorrelation);
    r.pool = rows.Unsigned(kPool);
    if (!TakeTime(rows, kStart, &r.time_ns)) continue;
    const LinkedCall* const call = FindCall(r.correlation);
    r.is_async = call != nullptr && call->is_async ? 1 : 0;
    NoteDevice(r.device);
    builder_.Add(r);
  }
}

void NsightImport::ReadMemoryPools() {
  constexpr std::string_view kTable = "CUDA_GPU_MEMORY_POOL_EVENTS";
  constexpr int64_t kImported = 2;  // ENUM_CUDA_MEMPOOL_TYPE
  if (!file_.HasTable(kTable)) return;
  enum Column : std::size_t {
    kStart,
    kProcess,
    kDevice,
    kAddress,
    kOperation,
    kType,
    kCorrelation,
    kKeep,
    kThreshold,
    kSize,
    kUsed
  };
  constexpr std::string_view kColumns[] = {"start",
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
    Enter(rows, kProcess);
    trace::MemoryPoolRecord r;
    r.device = rows.Int32(kDevice);
    r.pool = rows.Unsigned(kAddress);
    r.operation = static_cast<uint8_t>(rows.Int32(kOperation) & 0xFF);
    r.is_imported = rows.Int(kType) == kImported ? 1 : 0;
    r.correlation = rows.Int32(kCorrelation);
    r.keep_bytes = rows.Unsigned(kKeep);
    r.release_threshold_bytes = rows.Unsigned(kThreshold);
    r.size_bytes = rows.Unsigned(kSize);
    r.used_bytes = rows.Unsigned(kUsed);
    if (!TakeTime(rows, kStart, &r.time_ns)) continue;
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
  if (!file_.HasTable("CUDA_UM_GPU_PAGE_FAULT_EVENTS")) return;
  enum Column : std::size_t { kStart, kEnd, kProcess, kDevice, kAddress, kFaults, kAccess };
  constexpr std::string_view kColumns[] = {
      "start", "end", "globalPid", "deviceId", "address", "numberOfPageFaults", "faultAccessType"};
  SqliteRows rows(file_, "CUDA_UM_GPU_PAGE_FAULT_EVENTS", kColumns);
  while (rows.Next()) {
    Enter(rows, kProcess);
    trace::ManagedMemoryRecord r;
    Span span;
    r.managed_kind = static_cast<uint8_t>(trace::ManagedKind::kGpuPageFault);
    r.value = rows.Unsigned(kFaults);
    r.address = rows.Unsigned(kAddress);
    r.flags = rows.Int32(kAccess);
    r.source = r.destination = rows.Int32(kDevice);
    if (!TakeSpan(rows, kStart, kEnd, &span)) continue;
    r.start_ns = span.start_ns;
    r.duration_ns = span.duration_ns;
    NoteDevice(r.source);
    builder_.Add(r);
  }
}

void NsightImport::ReadOverheads(std::string_view table) {
  if (!file_.HasTable(table)) return;
  enum Column : std::size_t { kStart, kEnd, kThread, kName, kType, kCorrelation };
  constexpr std::string_view kColumns[] = {"start", "end", "globalTid", "nameId", "overheadType", "correlationId"};
  SqliteRows rows(file_, table, kColumns);
  while (rows.Next()) {
    // Threads of the tool's own, in processes that did nothing with CUDA, are no part of the program.
    if (!processes_.contains(rows.Int(kThread) >> kGlobalThreadBits)) continue;
    Enter(rows, kThread);
    trace::OverheadRecord r;
    Span span;
    r.tid = ThreadOf(rows.Int(kThread));
    r.correlation = rows.Int32(kCorrelation);
    const uint32_t type = rows.Int32(kType);
    if (rows.Has(kType)) {
      r.overhead_kind = type < std::size(kOverheadKinds) ? kOverheadKinds[type] : 0;
    } else if (!rows.IsNull(kName)) {
      r.overhead_kind = OverheadKindOf(builder_.TextOf(TextOf(rows.Int(kName))));
    }
    if (!TakeSpan(rows, kStart, kEnd, &span)) continue;
    r.start_ns = span.start_ns;
    r.duration_ns = span.duration_ns;
    NoteThread(r.tid);
    builder_.Add(r);
  }
}

void NsightImport::ReadJits() {
  constexpr std::string_view kTable = "CUPTI_ACTIVITY_KIND_JIT";
  if (!file_.HasTable(kTable)) return;
  enum Column : std::size_t { kStart, kEnd, kThread, kEntry, kOperation, kDevice, kCache };
  constexpr std::string_view kColumns[] = {"start",    "end",      "globalTid", "jitEntryType", "jitOperationType",
                                           "deviceId", "cacheSize"};
  SqliteRows rows(file_, kTable, kColumns);
  while (rows.Next()) {
    Enter(rows, kThread);
    trace::JitRecord r;
    Span span;
    r.tid = ThreadOf(rows.Int(kThread));
    r.entry_kind = static_cast<uint8_t>(rows.Int32(kEntry) & 0xFF);
    r.operation = static_cast<uint8_t>(rows.Int32(kOperation) & 0xFF);
    r.device = rows.Int32(kDevice);
    r.cache_bytes = rows.Unsigned(kCache);
    if (!TakeSpan(rows, kStart, kEnd, &span)) continue;
    r.start_ns = span.start_ns;
    r.duration_ns = span.duration_ns;
    NoteThread(r.tid);
    if (!rows.IsNull(kDevice)) NoteDevice(r.device);
    builder_.Add(r);
  }
}

}  // namespace gprof
