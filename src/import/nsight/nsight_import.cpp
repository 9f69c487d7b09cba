#include "import/nsight/nsight_import.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/units.h"
#include "import/nsight/nsight_values.h"
#include "trace/model/api_class.h"

namespace gprof {
namespace {

constexpr int64_t kLatestNs = int64_t{1} << 59;  // so that a shift of as much stays within what a trace takes
constexpr int64_t kNearTexts = 1 << 20;

}  // namespace

std::string NsightVersion(const SqliteReader& file) {
  std::string product, version;
  for (const std::string_view table : {"META_DATA_EXPORT", "EXPORT_META_DATA"}) {
    if (!file.HasTable(table)) continue;
    constexpr std::string_view kColumns[] = {"name", "value"};
    SqliteRows rows(file, table, kColumns);
    while (rows.Next()) {
      if (rows.Text(0) == "EXPORT_PRODUCT_NAME") product = rows.Text(1);
      if (rows.Text(0) == "EXPORT_PRODUCT_VERSION") version = rows.Text(1);
    }
  }
  if (product.starts_with("NVIDIA ")) product.erase(0, 7);
  if (product.empty()) product = "Nsight Systems";
  return version.empty() ? product : product + " " + version;
}

NsightImport::NsightImport(const SqliteReader& file, int64_t shift_ns)
    : file_(file),
      budget_(file.path(), file.file_bytes()),
      builder_(file.path(), NsightVersion(file), &budget_),
      shift_ns_(shift_ns),
      needed_shift_ns_(shift_ns) {}

Trace NsightImport::Run() {
  Reserve();
  ReadStrings();
  // Calls come first: the records of what they did have neither their thread nor, some of them, a time.
  ReadCalls("CUPTI_ACTIVITY_KIND_RUNTIME");
  ReadCalls("CUPTI_ACTIVITY_KIND_DRIVER");
  ReadKernels();
  ReadCopies();
  ReadMemsets();
  ReadGraphs();
  ReadGraphNodes();
  ReadSyncs();
  ReadEvents();
  ReadMemory();
  ReadMemoryPools();
  ReadFaults();
  ReadOverheads("PROFILER_OVERHEAD");
  ReadOverheads("CUPTI_ACTIVITY_KIND_OVERHEAD");
  ReadJits();
  ReadNvtx();
  ReadOsCalls();
  ReadMpi();
  if (builder_.process_count() == 0) ProcessOf(0);  // notices need a process to be said of
  ReadGpuMetrics();
  builder_.Enter(0);
  ReadTargets();
  Finish();
  return builder_.Finish(file_.file_bytes());
}

void NsightImport::Reserve() {
  RecordCounts counts;
  const auto count = [&](trace::RecordKind kind, std::string_view table, uint64_t records = 1) {
    const auto index = static_cast<std::size_t>(kind);
    if (index >= counts.size()) counts.resize(index + 1);
    counts[index] += records * file_.RowsAtMost(table);
  };
  using trace::RecordKind;
  count(RecordKind::kGraphNode, "CUDA_GRAPH_NODE_EVENTS");
  count(RecordKind::kApi, "CUPTI_ACTIVITY_KIND_RUNTIME");
  count(RecordKind::kKernel, "CUPTI_ACTIVITY_KIND_KERNEL");
  count(RecordKind::kMemcpy, "CUPTI_ACTIVITY_KIND_MEMCPY");
  count(RecordKind::kMemset, "CUPTI_ACTIVITY_KIND_MEMSET");
  count(RecordKind::kSync, "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION");
  count(RecordKind::kMemory, "CUDA_GPU_MEMORY_USAGE_EVENTS");
  count(RecordKind::kNvtx, "NVTX_EVENTS", 2);
  count(RecordKind::kNvtxPayload, "");
  builder_.Reserve(counts);
  ranges_.Reserve(file_.RowsAtMost("NVTX_EVENTS"));
}

// ---- processes and names ----

uint32_t NsightImport::ProcessOf(int64_t global_id) {
  const int64_t key = global_id >> kGlobalThreadBits;
  if (key == last_global_id_) return last_process_;
  const auto [at, is_new] = processes_.try_emplace(key, 0);
  if (is_new) {
    const auto pid = static_cast<uint32_t>(key & 0xFFFFFF);
    at->second = builder_.AddProcess(static_cast<uint64_t>(key >> kGlobalThreadBits), pid);
    global_ids_.push_back(key);
    last_ns_.push_back(0);
    pids_.try_emplace(pid, at->second);
  }
  last_global_id_ = key;
  return last_process_ = at->second;
}

// The first process where the source does not say: exports of old versions have no such column for one process.
void NsightImport::Enter(SqliteRows& rows, std::size_t global_id_column) {
  const bool is_unsaid = !global_ids_.empty() && rows.IsNull(global_id_column);
  builder_.Enter(is_unsaid ? 0 : ProcessOf(rows.Int(global_id_column)));
}

uint32_t NsightImport::ProcessOfPid(int64_t pid) const {
  const auto at = pids_.find(pid);
  return at == pids_.end() ? kNone : at->second;
}

void NsightImport::ReadStrings() {
  constexpr std::string_view kValue[] = {"value"};
  if (!file_.HasTable("StringIds")) return;
  if (file_.HasPrimaryKey("StringIds", "id")) {
    strings_ = std::make_unique<SqliteRows>(file_, "StringIds", kValue, "id");
    return;
  }
  constexpr std::string_view kColumns[] = {"id", "value"};
  SqliteRows rows(file_, "StringIds", kColumns);
  while (rows.Next()) {
    const int64_t id = rows.Int(0);
    if (IsGood(rows)) texts_.emplace(id, builder_.Text(rows.Text(1)));
  }
}

uint32_t NsightImport::TextOf(int64_t string_id) {
  const bool is_near = string_id >= 0 && string_id < kNearTexts;
  if (is_near && static_cast<std::size_t>(string_id) < near_texts_.size()) {
    const uint32_t text = near_texts_[static_cast<std::size_t>(string_id)];
    if (text != kNone) return text;
  } else if (const auto at = texts_.find(string_id); at != texts_.end()) {
    return at->second;
  }
  uint32_t text = 0;
  if (strings_ != nullptr) strings_->Seek(string_id);
  if (strings_ != nullptr && strings_->Next()) {
    text = builder_.Text(strings_->Text(0));
  } else {
    const auto at = texts_.find(string_id);
    text = at != texts_.end() ? at->second : builder_.Text(fmt::format("<name #{}>", string_id));
  }
  if (!is_near) {
    texts_.emplace(string_id, text);
    return text;
  }
  const auto index = static_cast<std::size_t>(string_id);
  if (index >= near_texts_.size()) near_texts_.resize(std::max(index + 1, 2 * near_texts_.size()), kNone);
  return near_texts_[index] = text;
}

trace::StringId NsightImport::NameOf(SqliteRows& rows, std::size_t column) {
  return rows.IsNull(column) ? trace::StringId{} : builder_.Name(TextOf(rows.Int(column)));
}

// ---- times ----

bool NsightImport::TakeStart(int64_t start_ns, uint64_t* time_ns) {
  if (start_ns <= -kLatestNs || start_ns >= kLatestNs) {
    ++bad_times_;
    return false;
  }
  if (start_ns + shift_ns_ < 1) {  // the export is read again with this shift
    needed_shift_ns_ = std::max(needed_shift_ns_, 1 - start_ns);
    return false;
  }
  *time_ns = static_cast<uint64_t>(start_ns + shift_ns_);
  return true;
}

std::optional<NsightImport::Span> NsightImport::SpanOf(SqliteRows& rows, bool is_op) {
  const int64_t start_ns = rows.Int(0), end_ns = rows.Int(1);
  if (!IsGood(rows)) return std::nullopt;
  const bool is_backwards = end_ns < start_ns || end_ns >= kLatestNs || rows.IsNull(0);
  if (is_backwards && !is_op) {
    ++bad_times_;
    return std::nullopt;
  }
  Span span;
  if (!TakeStart(start_ns, &span.start_ns)) return std::nullopt;
  // The builder leaves out operations of such a length, and counts them.
  span.duration_ns = is_backwards ? std::numeric_limits<uint64_t>::max() : static_cast<uint64_t>(end_ns - start_ns);
  if (!is_backwards) NoteTime(span.start_ns, span.start_ns + span.duration_ns);
  return span;
}

bool NsightImport::TakeTime(SqliteRows& rows, std::size_t column, uint64_t* time_ns) {
  const int64_t at_ns = rows.Int(column, -kLatestNs);  // NULL is no time
  if (!IsGood(rows) || !TakeStart(at_ns, time_ns)) return false;
  NoteTime(*time_ns, *time_ns);
  return true;
}

void NsightImport::NoteTime(uint64_t start_ns, uint64_t end_ns) {
  first_ns_ = std::min(first_ns_, start_ns);
  uint64_t& last_ns = last_ns_[builder_.process()];
  last_ns = std::max(last_ns, end_ns);
}

bool NsightImport::IsGood(SqliteRows& rows) {
  if (!rows.IsBad()) return true;
  ++bad_rows_;
  return false;
}

void NsightImport::NoteThread(uint32_t tid) {
  if (tid == noted_tid_ && builder_.process() == noted_process_) return;
  noted_tid_ = tid;
  noted_process_ = builder_.process();
  threads_(noted_process_, tid) = 0;
}

void NsightImport::NoteDevice(uint32_t device) {
  uint32_t& is_known = devices_(builder_.process(), device);
  if (is_known != kNone) return;
  is_known = 0;
  seen_devices_.push_back({builder_.process(), device});
}

const NsightImport::LinkedCall* NsightImport::FindCall(uint32_t correlation) const {
  const uint32_t at = calls_.Find(builder_.process(), correlation);
  return at == kNone ? nullptr : &linked_calls_[at];
}

// ---- the end ----

// There may have been none.
bool NsightImport::WasRecorded(std::string_view table, std::string_view event_type) const {
  if (file_.HasTable(table)) return true;
  if (!file_.HasTable("META_DATA_CAPTURE")) return false;
  constexpr std::string_view kColumns[] = {"name", "value"};
  SqliteRows rows(file_, "META_DATA_CAPTURE", kColumns);
  while (rows.Next()) {
    if (rows.Text(0) == "CAPTURE_EVENT_TYPE" && rows.Text(1) == event_type) return true;
  }
  return false;
}

void NsightImport::AddLacks() {
  // TARGET_INFO_CUDA_STREAM has the streams of the driver among those of the program, and no times.
  builder_.SetLacks(Fact::kStreamsMade);
  // Its tables of these are not read.
  builder_.SetLacks(Fact::kSwitches | Fact::kCpuSamples | Fact::kGemms | Fact::kCollectives | Fact::kOpenMp |
                    Fact::kOpenAcc | Fact::kCounters);
  if (!WasRecorded("OSRT_API", "OSRuntime")) builder_.SetLacks(Fact::kOsCalls | Fact::kHostWaits);
  if (!HasMpi()) builder_.SetLacks(Fact::kMpiCalls);
  const bool has_gpu_faults = file_.HasTable("CUDA_UM_GPU_PAGE_FAULT_EVENTS");
  const bool has_cpu_faults = file_.HasTable("CUDA_UM_CPU_PAGE_FAULT_EVENTS");
  const bool has_memory = file_.HasTable("CUDA_GPU_MEMORY_USAGE_EVENTS");
  const bool has_managed = migration_count_ > 0 || has_gpu_faults || has_cpu_faults;
  if (!has_memory) builder_.SetLacks(Fact::kMemory);
  if (!has_managed) builder_.SetLacks(Fact::kManagedMemory | Fact::kGpuPageFaults | Fact::kCpuPageFaults);
  if (builder_.recorder().starts_with("gprof-cli")) {  // an export of ours: a table that is not there has no rows
    if (graph_count_ > 0) builder_.SetLacks(Fact::kGraphNodes);
    return;
  }
  if (!has_gpu_faults) builder_.SetLacks(Fact::kGpuPageFaults);
  if (!has_cpu_faults) builder_.SetLacks(Fact::kCpuPageFaults);
  if (!file_.HasColumn("CUPTI_ACTIVITY_KIND_RUNTIME", "returnValue")) builder_.SetLacks(Fact::kResults);
  if (!file_.HasTable("TARGET_INFO_CUDA_STREAM")) builder_.SetLacks(Fact::kPriorities);
  if (!file_.HasTable("CUPTI_ACTIVITY_KIND_JIT")) builder_.SetLacks(Fact::kCompilations);
  if (!file_.HasTable("PROFILER_OVERHEAD") && !file_.HasTable("CUPTI_ACTIVITY_KIND_OVERHEAD"))
    builder_.SetLacks(Fact::kOverheads);
  AddLacksOfOptions();
}

// What an option of nsys, or another one, would have recorded: the report says so.
void NsightImport::AddLacksOfOptions() {
  const auto add = [&](Fact fact, std::string_view message) {
    builder_.SetLacks(fact);
    builder_.AddNotice(trace::NoticeLevel::kInfo, message);
  };
  if (op_count_ > 0 && call_count_ == 0) {
    add(Fact::kApiCalls, "The export has no CUDA calls: the causes of idle time are unknown");
  }
  if (copy_count_ > 0 && !file_.HasColumn("CUPTI_ACTIVITY_KIND_MEMCPY", "srcKind")) {
    add(Fact::kMemoryKinds, "The export does not say which memory is pageable");
  }
  if (sync_call_count_ > 0 && sync_count_ == 0) {
    add(Fact::kSyncs, "The export has no synchronisation records: what calls waited for is unknown");
  }
  if (event_call_count_ > 0 && !file_.HasTable("CUPTI_ACTIVITY_KIND_CUDA_EVENT")) {
    add(Fact::kEvents, "The export has no CUDA events (nsys profile --cuda-event-trace=true)");
  }
  if (memory_call_count_ > 0 && !file_.HasTable("CUDA_GPU_MEMORY_USAGE_EVENTS")) {
    add(Fact::kMemory, "The export has no allocations (nsys profile --cuda-memory-usage=true)");
  }
  if (graph_count_ > 0) {
    add(Fact::kGraphNodes, "CUDA graphs were recorded as a whole (nsys profile --cuda-graph-trace=node)");
  }
  if (op_count_ > 0 && !file_.HasTable("TARGET_INFO_GPU")) {
    add(Fact::kDevices, "The export does not describe the GPUs");
  }
  if (!WasRecorded("NVTX_EVENTS", "NvtxEvents"))
    add(Fact::kNvtx, "The export has no NVTX (nsys profile --trace=cuda,nvtx)");
}

void NsightImport::Finish() {
  AddLacks();
  if (!file_.notice().empty()) builder_.AddNotice(trace::NoticeLevel::kWarning, file_.notice());
  const auto count = [](uint64_t n) { return static_cast<int64_t>(n); };
  if (bad_rows_ > 0) {
    builder_.AddNotice(trace::NoticeLevel::kWarning,
                       CountOf(count(bad_rows_), "row") + " of the export skipped: values of the wrong type");
    builder_.AddLoss(trace::LossReason::kUnknownRecord, bad_rows_);
  }
  if (bad_times_ > 0) {
    builder_.AddNotice(trace::NoticeLevel::kWarning,
                       CountOf(count(bad_times_), "row") + " of the export skipped: no valid times");
    builder_.AddLoss(trace::LossReason::kNoTime, bad_times_);
  }
  if (syncs_without_call_ > 0) {
    builder_.AddNotice(trace::NoticeLevel::kInfo, CountOf(count(syncs_without_call_), "record") +
                                                      " of synchronisation skipped: without the call, the thread "
                                                      "that waited is unknown");
  }
  if (skipped_nvtx_ > 0) {
    builder_.AddNotice(trace::NoticeLevel::kInfo,
                       CountOf(count(skipped_nvtx_), "row") + " of NVTX_EVENTS skipped: unsupported kind");
  }
  if (payloads_.left_out_count() > 0) {
    builder_.AddNotice(trace::NoticeLevel::kInfo, CountOf(count(payloads_.left_out_count()), "payload") +
                                                      " of NVTX skipped: there are too many layouts");
  }
  AddNotRead();
  for (uint32_t process = 0; process < builder_.process_count(); ++process) {
    builder_.Enter(process);
    trace::EndRecord end;
    end.time_ns = last_ns_[process];
    end.reason = static_cast<uint8_t>(trace::EndReason::kStopped);
    builder_.Add(end);
  }
}

}  // namespace gprof
