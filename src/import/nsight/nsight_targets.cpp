// Who and where: names of processes and threads, GPUs, contexts, streams, clocks, and what the tool had to say.
#include <algorithm>
#include <charconv>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <utility>

#include "base/units.h"
#include "import/nsight/nsight_import.h"
#include "import/nsight/nsight_values.h"
#include "import/nsight/number_columns.h"
#include "trace/model/saturating_time.h"

namespace gprof {
namespace {

// 0000:3b:00.0
void ReadBusLocation(std::string_view text, trace::DeviceRecord* properties) {
  uint32_t* const parts[] = {&properties->pcie_domain, &properties->pcie_bus, &properties->pcie_device};
  const char* at = text.data();
  const char* const end = at + text.size();
  for (uint32_t* part : parts) {
    const auto [stop, status] = std::from_chars(at, end, *part, 16);
    if (status != std::errc()) return;
    at = stop < end ? stop + 1 : end;
  }
}

uint32_t Number(std::string_view text) {
  uint32_t value = 0;
  const auto [stop, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  return status == std::errc() && stop == text.data() + text.size() ? value : 0;
}

}  // namespace

void NsightImport::ReadTargets() {
  ReadProcessNames();
  ReadThreadNames();
  ReadContexts("TARGET_INFO_CUDA_NULL_STREAM", "streamId");
  ReadContexts("TARGET_INFO_CUDA_CONTEXT_INFO", "nullStreamId");
  ReadStreams();
  ReadDevices();
  ReadClock();
  ReadDiagnostics();
}

std::string NsightImport::ValueOf(std::string_view table, std::string_view name) const {
  if (!file_.HasTable(table)) return {};
  constexpr std::string_view kColumns[] = {"name", "value"};
  SqliteRows rows(file_, table, kColumns);
  while (rows.Next()) {
    if (rows.Text(0) == name) return std::string(rows.Text(1));
  }
  return {};
}

void NsightImport::ReadProcessNames() {
  std::string host = ValueOf("TARGET_INFO_SYSTEM_ENV", "Hostname");
  const uint32_t host_text = builder_.Text(host);
  const uint32_t driver = Number(ValueOf("TARGET_INFO_SYSTEM_ENV", "CudaDriverVersion"));
  std::vector<trace::ProcessRecord> records(builder_.process_count());
  std::vector<uint32_t> names(records.size());
  if (file_.HasTable("PROCESSES")) {
    constexpr std::string_view kColumns[] = {"globalPid", "pid", "name"};
    SqliteRows rows(file_, "PROCESSES", kColumns);
    while (rows.Next()) {
      const auto at = processes_.find(rows.Int(0) >> kGlobalThreadBits);
      if (at == processes_.end()) continue;
      records[at->second].pid = rows.Int32(1);
      names[at->second] = builder_.Text(rows.Text(2));
    }
  }
  ReadRanks(&records);
  for (uint32_t process = 0; process < records.size(); ++process) {
    builder_.Enter(process);
    if (records[process].rank >= 0) records[process].rank_source = builder_.Name("MPI");
    records[process].name = builder_.Name(names[process]);
    records[process].host = builder_.Name(host_text);
    records[process].driver_version = driver;
    builder_.Add(records[process]);
    if (records[process].pid != 0) pids_[records[process].pid] = process;
  }
}

void NsightImport::ReadRanks(std::vector<trace::ProcessRecord>* processes) {
  constexpr std::string_view kColumns[] = {"globalTid", "rank"};
  SqliteRows rows(file_, "MPI_RANKS", kColumns);
  while (rows.Next()) {
    const auto at = processes_.find(rows.Int(0) >> kGlobalThreadBits);
    const int64_t rank = rows.Int(1, -1);
    if (!IsGood(rows) || at == processes_.end() || rank < 0 || rank > std::numeric_limits<int32_t>::max()) continue;
    (*processes)[at->second].rank = static_cast<int32_t>(rank);
  }
}

// A thread has a name from the system and maybe others; that of the highest priority is shown.
void NsightImport::ReadThreadNames() {
  std::map<std::pair<uint32_t, uint32_t>, std::pair<int64_t, int64_t>> names;  // thread to priority and string
  constexpr std::string_view kColumns[] = {"nameId", "priority", "globalTid"};
  SqliteRows rows(file_, "ThreadNames", kColumns);
  while (rows.Next()) {
    const int64_t name = rows.Int(0), priority = rows.Int(1), global_tid = rows.Int(2);
    const auto process = processes_.find(global_tid >> kGlobalThreadBits);
    if (!IsGood(rows) || process == processes_.end()) continue;
    const uint32_t tid = ThreadOf(global_tid);
    if (threads_.Find(process->second, tid) == kNone) continue;
    const auto [at, is_new] = names.try_emplace({process->second, tid}, priority, name);
    if (!is_new && priority > at->second.first) at->second = {priority, name};
  }
  for (const auto& [thread, name] : names) {
    builder_.Enter(thread.first);
    builder_.Add(trace::ThreadRecord{thread.second, builder_.Name(TextOf(name.second))});
  }
}

void NsightImport::ReadContexts(std::string_view table, std::string_view null_stream) {
  const std::string_view columns[] = {null_stream, "processId", "deviceId", "contextId"};
  SqliteRows rows(file_, table, columns);
  while (rows.Next()) {
    trace::ContextRecord r;
    r.null_stream = rows.Int32(0);
    const uint32_t process = ProcessOfPid(rows.Int(1));
    r.device = rows.Int32(2);
    r.context = rows.Int32(3);
    if (!IsGood(rows) || process == kNone || r.context == 0) continue;
    builder_.Enter(process);
    NoteDevice(r.device);
    builder_.Add(r);
  }
}

// Of the streams that something ran on: the table has those of the driver, too.
void NsightImport::ReadStreams() {
  constexpr std::string_view kTable = "TARGET_INFO_CUDA_STREAM";
  constexpr int64_t kNonBlocking = 2;
  constexpr std::string_view kColumns[] = {"streamId", "processId", "contextId", "priority", "flag"};
  SqliteRows rows(file_, kTable, kColumns);
  while (rows.Next()) {
    trace::StreamRecord r;
    r.stream = rows.Int32(0);
    const uint32_t process = ProcessOfPid(rows.Int(1));
    r.context = rows.Int32(2);
    r.priority = static_cast<int32_t>(rows.Int(3));  // a negative one is written as a large number
    r.is_non_blocking = rows.Int(4) == kNonBlocking ? 1 : 0;
    if (!IsGood(rows) || process == kNone) continue;
    if (streams_.Find(uint64_t{process} << 32 | r.context, r.stream) == kNone) continue;
    builder_.Enter(process);
    builder_.Add(r);
  }
}

std::vector<NsightImport::Gpu> NsightImport::ReadGpus() {
  std::vector<Gpu> gpus;
  static constexpr Columns kColumns{"id",          "cuDevice",        "name",      "uuid",        "busLocation",
                                    "totalMemory", "memoryBandwidth", "clockRate", "l2CacheSize", "maxWarpsPerSm"};
  using Limits = trace::DeviceRecord;
  static constexpr NumberColumn<Limits> kNumbers[] = {{"smCount", &Limits::sm_count},
                                                      {"computeMajor", &Limits::compute_major},
                                                      {"computeMinor", &Limits::compute_minor},
                                                      {"threadsPerWarp", &Limits::warp_size},
                                                      {"maxBlocksPerSm", &Limits::max_blocks_per_sm},
                                                      {"maxRegistersPerSm", &Limits::max_registers_per_sm},
                                                      {"maxShmemPerSm", &Limits::max_shared_bytes_per_sm},
                                                      {"maxThreadsPerBlock", &Limits::max_threads_per_block},
                                                      {"maxRegistersPerBlock", &Limits::max_registers_per_block},
                                                      {"maxShmemPerBlock", &Limits::max_shared_bytes_per_block}};
  SqliteRows rows(file_, "TARGET_INFO_GPU", WithColumns(kColumns, kNumbers));
  while (rows.Next()) {
    Gpu gpu;
    gpu.id = rows.Int(kColumns["id"]);
    gpu.cuda_id = rows.Int(kColumns["cuDevice"], -1);
    gpu.name = builder_.Text(rows.Text(kColumns["name"]));
    const std::string_view uuid = rows.Text(kColumns["uuid"]);
    gpu.uuid = uuid.empty() || uuid.starts_with("GPU-") || uuid.starts_with("MIG-")
                   ? builder_.Text(uuid)
                   : builder_.Text("GPU-" + std::string(uuid));
    Limits& f = gpu.properties;
    ReadBusLocation(rows.Text(kColumns["busLocation"]), &f);
    ReadNumbers(rows, kColumns.size(), kNumbers, &f);
    f.memory_bytes = rows.Unsigned(kColumns["totalMemory"]);
    f.memory_bytes_per_second = rows.Unsigned(kColumns["memoryBandwidth"]);
    f.sm_clock_khz =
        static_cast<uint32_t>(std::clamp<int64_t>(rows.Int(kColumns["clockRate"]) / 1000, 0, 0xFFFFFFFFll));
    f.l2_bytes = rows.Unsigned(kColumns["l2CacheSize"]);
    f.max_threads_per_sm = rows.Int32(kColumns["maxWarpsPerSm"]) * f.warp_size;
    if (IsGood(rows)) gpus.push_back(gpu);
  }
  return gpus;
}

void NsightImport::ReadDevices() {
  const std::vector<Gpu> gpus = ReadGpus();
  // Which of the machine's GPUs a process calls by which number; before that table came all processes saw them alike.
  std::map<std::pair<int64_t, int64_t>, int64_t> numbers;
  if (file_.HasTable("TARGET_INFO_CUDA_DEVICE")) {
    constexpr std::string_view kColumns[] = {"pid", "cudaId", "gpuId"};
    SqliteRows rows(file_, "TARGET_INFO_CUDA_DEVICE", kColumns);
    while (rows.Next()) {
      if (!rows.IsNull(2)) numbers[{ProcessOfPid(rows.Int(0)), rows.Int(1)}] = rows.Int(2);
    }
  }
  for (const Target& seen : seen_devices_) {
    const auto number = numbers.find({seen.process, seen.id});
    auto gpu = gpus.end();
    const auto find = [&](auto is_it) {
      if (gpu == gpus.end()) gpu = std::find_if(gpus.begin(), gpus.end(), is_it);
    };
    if (number != numbers.end()) find([&](const Gpu& g) { return g.id == number->second; });
    find([&](const Gpu& g) { return g.cuda_id == seen.id; });
    find([&](const Gpu& g) { return g.cuda_id < 0 && g.id == seen.id; });
    if (gpu == gpus.end()) continue;
    builder_.Enter(seen.process);
    trace::DeviceRecord r = gpu->properties;
    r.device = seen.id;
    r.name = builder_.Name(gpu->name);
    r.uuid = builder_.Name(gpu->uuid);
    builder_.Add(r);
  }
}

// The session began at 0, and at this time of day.
void NsightImport::ReadClock() {
  constexpr std::string_view kTable = "TARGET_INFO_SESSION_START_TIME";
  constexpr std::string_view kColumns[] = {"utcEpochNs"};
  SqliteRows rows(file_, kTable, kColumns);
  if (!rows.Next()) return;
  const int64_t utc_ns = rows.Int(0);
  if (!IsGood(rows) || utc_ns <= shift_ns_ || first_ns_ > kMaxTimeNs) return;
  // Said of the first event: the trace has no time before it, and 0 is none.
  trace::ClockRecord r;
  r.monotonic_ns = first_ns_;
  r.realtime_ns = static_cast<uint64_t>(utc_ns - shift_ns_) + first_ns_;
  builder_.Enter(0);
  builder_.Add(r);
}

void NsightImport::ReadDiagnostics() {
  constexpr int64_t kWarning = 2, kError = 3;
  constexpr std::size_t kMost = 20;
  constexpr std::string_view kColumns[] = {"severity", "text", "globalPid"};
  SqliteRows rows(file_, "DIAGNOSTIC_EVENT", kColumns);
  for (std::size_t said = 0; said < kMost && rows.Next();) {
    const int64_t severity = rows.Int(0);
    const std::string_view text = rows.Text(1);
    // Of warnings. What was not asked for, or not used, is no news.
    const bool is_about_us = text.find("CUDA") != std::string_view::npos || text.find("NVTX") != std::string_view::npos;
    const bool is_worth_it = severity >= kError || (severity == kWarning && is_about_us && !text.starts_with("No "));
    if (!IsGood(rows) || !is_worth_it) continue;
    const auto process = processes_.find(rows.Int(2) >> kGlobalThreadBits);
    builder_.Enter(process == processes_.end() ? 0 : process->second);
    builder_.AddNotice(severity >= kError ? trace::NoticeLevel::kError : trace::NoticeLevel::kInfo, text);
    ++said;
  }
}

// CPU samples, context switches and the like.
void NsightImport::AddNotRead() {
  constexpr std::size_t kMost = 8;
  // What describes the export, and what belongs to rows of another table.
  constexpr std::string_view kAside[] = {"ENUM_",        "TARGET_INFO_", "META_DATA_",         "EXPORT_META_",
                                         "ANALYSIS_",    "sqlite_",      "ProcessStreams",     "UnwindMethod",
                                         "NVTX_PAYLOAD", "StringIds",    "GENERIC_EVENT_TYPES"};
  std::vector<std::pair<uint64_t, std::string>> tables;
  for (std::string& name : file_.UnreadTables()) {
    const bool is_aside = name.ends_with("_CALLCHAINS") || name.ends_with("_DESCRIPTORS") ||
                          std::any_of(std::begin(kAside), std::end(kAside),
                                      [&](std::string_view prefix) { return name.starts_with(prefix); });
    const uint64_t rows = is_aside ? 0 : file_.RowsAtMost(name);
    if (rows > 0) tables.emplace_back(rows, std::move(name));
  }
  if (tables.empty()) return;
  std::sort(tables.begin(), tables.end(), std::greater<>());
  std::string text;
  for (std::size_t i = 0; i < std::min(tables.size(), kMost); ++i) {
    text += (i > 0 ? ", " : "") + tables[i].second + " (" + CountOf(static_cast<int64_t>(tables[i].first), "row") + ")";
  }
  if (tables.size() > kMost) text += ", " + CountOf(static_cast<int64_t>(tables.size() - kMost), "other table");
  builder_.AddNotice(trace::NoticeLevel::kInfo, "Skipped: " + text);
}

}  // namespace gprof
