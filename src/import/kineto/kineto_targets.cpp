// Who and where, and what the file lacks.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/units.h"
#include "import/kineto/kineto_import.h"
#include "import/shared/decimal.h"

namespace gprof {
namespace {

uint64_t NumberOf(const JsonPiece& value) {
  const auto bits = value.IsNumber() ? ReadBits(value.text) : std::nullopt;
  return bits.value_or(0);
}

uint32_t SmallNumberOf(const JsonPiece& value) {
  const uint64_t number = NumberOf(value);
  return number > std::numeric_limits<uint32_t>::max() ? 0 : static_cast<uint32_t>(number);
}

void SetProperty(std::string_view key, const JsonPiece& value, trace::DeviceRecord* properties) {
  const auto is = [&](std::string_view name, uint32_t* field) {
    if (key == name) *field = SmallNumberOf(value);
  };
  if (key == "totalGlobalMem") properties->memory_bytes = NumberOf(value);
  is("id", &properties->device);
  is("computeMajor", &properties->compute_major);
  is("computeMinor", &properties->compute_minor);
  is("maxThreadsPerBlock", &properties->max_threads_per_block);
  is("maxThreadsPerMultiprocessor", &properties->max_threads_per_sm);
  is("regsPerBlock", &properties->max_registers_per_block);
  is("regsPerMultiprocessor", &properties->max_registers_per_sm);
  is("warpSize", &properties->warp_size);
  // What a kernel may have, and what it may have if it asks for more.
  if (key.starts_with("sharedMemPerBlock")) {
    properties->max_shared_bytes_per_block = std::max(properties->max_shared_bytes_per_block, SmallNumberOf(value));
  }
  is("sharedMemPerMultiprocessor", &properties->max_shared_bytes_per_sm);
  is("maxSharedMemoryPerMultiProcessor", &properties->max_shared_bytes_per_sm);
  is("numSms", &properties->sm_count);
}

// "thread 1102 (python3)" is python3.
std::string_view ThreadNameIn(std::string_view name) {
  const std::size_t open = name.find(" (");
  if (!name.starts_with("thread ") || open == std::string_view::npos || !name.ends_with(')')) return name;
  return name.substr(open + 2, name.size() - open - 3);
}

}  // namespace

void KinetoImport::OnMember(std::string_view key, const JsonPiece& value) {
  if (key == "deviceProperties") return ReadDeviceProperties(value);
  if (key == "distributedInfo") return ReadRank(value);
  if (key == "schemaVersion") is_kineto_ = true;
  if (key == "baseTimeNanoseconds") base_ns_ = NumberOf(value);
  if (key == "cupti_version") cupti_version_ = SmallNumberOf(value);
  if (key == "cuda_runtime_version") runtime_version_ = SmallNumberOf(value);
  if (key == "cuda_driver_version") driver_version_ = SmallNumberOf(value);
  if (key == "host_name" || key == "hostname") host_name_ = TextOf(value);
  if (key == "ERROR") ReadDiagnostics(value, trace::NoticeLevel::kError);
  if (key == "WARNING") ReadDiagnostics(value, trace::NoticeLevel::kInfo);
  if (key == "generator" && value.text.starts_with("gprof-cli ")) generator_ = value.text;
}

void KinetoImport::ReadDeviceProperties(const JsonPiece& devices) {
  constexpr std::size_t kMostDevices = 4096;
  constexpr uint32_t kNvidiaWarp = 32;
  if (devices.kind != JsonPiece::Kind::kArray) return;
  JsonScanner(devices.text).ReadArray([&](const JsonPiece& device) {
    if (device.kind != JsonPiece::Kind::kObject || properties_.size() >= kMostDevices) return;
    Properties read;
    JsonScanner(device.text).ReadObject([&](std::string_view key, const JsonPiece& value) {
      if (key == "name") read.name = TextOf(value);
      SetProperty(key, value, &read.properties);
    });
    // Numbers of AMD's architectures, which mean other GPUs here.
    if (read.properties.warp_size != kNvidiaWarp) read.properties.compute_major = read.properties.compute_minor = 0;
    properties_[read.properties.device] = read;
  });
}

// What Kineto logged: "ERROR:2024-04-11 13:30:02 37:37 CuptiActivityProfiler.cpp:908] text". It warns of much that is
// not about the GPU.
void KinetoImport::ReadDiagnostics(const JsonPiece& lines, trace::NoticeLevel level) {
  constexpr std::size_t kMost = 20;
  if (lines.kind != JsonPiece::Kind::kArray) return;
  JsonScanner(lines.text).ReadArray([&](const JsonPiece& line) {
    std::string_view text = builder_.TextOf(TextOf(line));
    const std::size_t begin = text.find("] ");
    if (begin != std::string_view::npos) text.remove_prefix(begin + 2);
    const bool is_about_gpu = text.find("CU") != std::string_view::npos || text.find("GPU") != std::string_view::npos;
    if (line.kind != JsonPiece::Kind::kString || !is_about_gpu || diagnostics_.size() == kMost) return;
    diagnostics_.emplace_back(level, builder_.Text(text));
  });
}

void KinetoImport::ReadRank(const JsonPiece& info) {
  if (info.kind != JsonPiece::Kind::kObject) return;
  JsonScanner(info.text).ReadObject([&](std::string_view key, const JsonPiece& value) {
    const auto number = static_cast<int64_t>(SmallNumberOf(value));
    if (key == "world_size") world_size_ = static_cast<uint32_t>(number);
    if (key == "rank" && value.IsNumber() && number <= std::numeric_limits<int32_t>::max()) {
      rank_ = static_cast<int32_t>(number);
    }
  });
}

void KinetoImport::AddProcesses() {
  for (uint32_t process = 0; process < pids_.size(); ++process) {
    builder_.Enter(process);
    trace::ProcessRecord r;
    const auto name = process_names_.find(pids_[process]);
    uint32_t text = name == process_names_.end() ? 0 : name->second;
    const std::string_view pid = builder_.TextOf(pids_[process]);
    const bool is_numbered = !pid.empty() && pid.find_first_not_of("0123456789") == std::string_view::npos;
    if (text == 0 && !is_numbered) text = pids_[process];
    r.name = builder_.Name(text);
    r.host = builder_.Name(host_name_);
    r.cupti_version = cupti_version_;
    r.driver_version = driver_version_;
    r.runtime_version = runtime_version_;
    // Our own exports of programs without ranks have rank 0 of 1, since readers of several files want one.
    if (rank_ >= 0 && pids_.size() == 1 && world_size_ > 1) {
      r.rank = rank_;
      r.world_size = world_size_;
      r.rank_source = builder_.Name("torch.distributed");
    }
    builder_.Add(r);
  }
}

void KinetoImport::AddThreads() {
  for (const Track& track : tracks_) {
    if (track.process == kNone) continue;
    const auto named = thread_names_.find({track.pid, track.tid});
    std::string_view name = named == thread_names_.end() ? "" : ThreadNameIn(builder_.TextOf(named->second));
    const std::string_view tid = builder_.TextOf(track.tid);
    if (name.empty() && tid.find_first_not_of("-0123456789") != std::string_view::npos) name = tid;
    if (name.empty()) continue;
    builder_.Enter(track.process);
    builder_.Add(trace::ThreadRecord{track.thread, builder_.Name(name)});
  }
}

void KinetoImport::AddDevices() {
  for (const auto& [process, device] : seen_devices_) {
    const auto at = properties_.find(device);
    if (at == properties_.end()) continue;
    builder_.Enter(process);
    trace::DeviceRecord r = at->second.properties;
    r.name = builder_.Name(at->second.name);
    builder_.Add(r);
  }
}

// Times count from a point that the file names, or from 1970.
void KinetoImport::AddClock() {
  constexpr uint64_t kYear2001Ns = 1'000'000'000'000'000'000, kYear2116Ns = uint64_t{1} << 62;
  if (first_ns_ > last_of_all_ns_ || base_ns_ > kYear2116Ns) return;
  const int64_t source_ns = static_cast<int64_t>(first_ns_) + origin_ns_;
  const int64_t realtime_ns = static_cast<int64_t>(base_ns_) + source_ns;
  if (realtime_ns < static_cast<int64_t>(kYear2001Ns)) return;
  trace::ClockRecord r;
  r.monotonic_ns = first_ns_;
  r.realtime_ns = static_cast<uint64_t>(realtime_ns);
  builder_.Enter(0);
  builder_.Add(r);
}

void KinetoImport::AddLacks() {
  const auto add = [&](Fact fact, std::string_view message) {
    builder_.SetLacks(fact);
    if (!message.empty()) builder_.AddNotice(trace::NoticeLevel::kInfo, message);
  };
  if (call_count_ == 0 && !work_.empty()) {
    add(Fact::kApiCalls, "The file has no CUDA calls: the causes of idle time are unknown");
  }
  if (launch_count_ > 0 && work_.empty()) {
    add(Fact::kOperations,
        "The file has launches or copies and no GPU work (torch.profiler: ProfilerActivity.CUDA; autograd's profiler: "
        "use_device)");
  }
  if (host_copy_count_ > host_copies_of_known_memory_) {
    add(Fact::kMemoryKinds, "The file does not say which memory is pageable");
  }
  if (copies_without_size_ > 0) add(Fact::kCopySizes, "The file does not say how many bytes its copies moved");
  if (sync_call_count_ > 0 && syncs_.empty()) {
    add(Fact::kSyncs, "The file has no synchronisation records (torch.profiler: enable_cuda_sync_events=True)");
  }
  if (event_wait_count_ == 0) add(Fact::kEvents, {});
  if (kernel_count_ > shape_count_) add(Fact::kShapes, "The file has kernels without grid and block sizes");
  if (graph_count_ > 0) add(Fact::kGraphNodes, "CUDA graphs were recorded as a whole");
  if (!work_.empty() && properties_.empty()) add(Fact::kDevices, "The file does not describe the GPUs");
  if (range_count_ == 0) add(Fact::kNvtx, {});
  if (overheads_.empty()) add(Fact::kOverheads, {});
  // Our own exports name the results of calls that failed.
  if (result_count_ == 0 && generator_.empty()) add(Fact::kResults, {});
  builder_.SetLacks(Fact::kStreamsMade | Fact::kPriorities | Fact::kMemory | Fact::kManagedMemory |
                    Fact::kGpuPageFaults | Fact::kCpuPageFaults | Fact::kCompilations | Fact::kOsCalls |
                    Fact::kSwitches | Fact::kHostWaits | Fact::kCpuSamples | Fact::kMpiCalls | Fact::kGemms |
                    Fact::kCollectives | Fact::kOpenMp | Fact::kOpenAcc | Fact::kCounters);
}

void KinetoImport::AddLosses(const ChromeReader& reader, const std::string& damage) {
  const auto warn = [&](const std::string& message) { builder_.AddNotice(trace::NoticeLevel::kWarning, message); };
  const auto count = [](uint64_t n, const char* what) { return CountOf(static_cast<int64_t>(n), what); };
  if (!damage.empty()) warn(fmt::format("Read only in part: {}", damage));
  if (damage.empty() && reader.is_cut()) warn("Read only in part: the file is truncated");
  if (reader.is_bad()) {
    warn(fmt::format("Read only in part: invalid JSON at byte {}", reader.bad_position()));
  }
  if (reader.bad_event_count() > 0) {
    warn(fmt::format("{} skipped: invalid JSON, the first at byte {}", count(reader.bad_event_count(), "event"),
                     reader.bad_position()));
    builder_.AddLoss(trace::LossReason::kUnknownRecord, reader.bad_event_count());
  }
  if (bad_times_ > 0) {
    warn(count(bad_times_, "event") + " skipped: no valid times");
    builder_.AddLoss(trace::LossReason::kNoTime, bad_times_);
  }
  if (bad_ends_ > 0) {
    warn(count(bad_ends_, "end") + " of ranges without a start");
    builder_.AddLoss(trace::LossReason::kUnknownRecord, bad_ends_);
  }
  if (truncated_correlations_ > 0) {
    warn(count(truncated_correlations_, "operation") + " with a correlation ID that exceeds 32 bits");
  }
  if (syncs_without_call_ > 0) {
    builder_.AddNotice(trace::NoticeLevel::kInfo,
                       count(syncs_without_call_, "record") +
                           " of synchronisation skipped: without the call, the waiting thread is unknown");
  }
}

void KinetoImport::AddDiagnostics() {
  for (const auto& [level, text] : diagnostics_) builder_.AddNotice(level, builder_.TextOf(text));
}

void KinetoImport::AddSkipped() {
  constexpr std::size_t kMost = 6;
  std::string text;
  std::size_t said = 0;
  for (const auto& [what, times] : skipped_) {
    if (what == "Trace" || said == kMost) continue;
    ++said;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", FormatCount(static_cast<int64_t>(times)), what);
  }
  if (!text.empty()) builder_.AddNotice(trace::NoticeLevel::kInfo, "Skipped: " + text);
}

std::string KinetoImport::Recorder() const {
  if (!generator_.empty()) return generator_ + " (Chrome JSON)";
  if (is_xla_) return "XLA profiler";
  return is_kineto_ ? "torch.profiler" : "Chrome JSON";
}

Trace KinetoImport::Finish(const ChromeReader& reader, const std::string& damage, uint64_t file_bytes) {
  for (auto& [track, open] : open_) {
    for (const OpenSlice& begun : open) {
      uint64_t start_ns = 0;
      if (ToTrace(begun.slice.start_ns, &start_ns)) TakeRange(begun.slice, start_ns, true, true);
    }
  }
  for (auto& [key, open] : open_async_) {
    for (const OpenSlice& begun : open) {
      uint64_t start_ns = 0;
      if (ToTrace(begun.slice.start_ns, &start_ns)) TakeRange(begun.slice, start_ns, false, true);
    }
  }
  if (pids_.empty()) ProcessOf(builder_.Text("0"));
  builder_.Enter(0);
  FollowFlows();
  AddLacks();
  AddGpuWork();
  AddSyncs();
  AddOverheads();
  ranges_.Finish(&builder_);
  AddProcesses();
  AddThreads();
  AddDevices();
  AddClock();
  builder_.Enter(0);
  AddLosses(reader, damage);
  AddDiagnostics();
  AddSkipped();
  for (uint32_t process = 0; process < pids_.size(); ++process) {
    builder_.Enter(process);
    trace::EndRecord end;
    end.time_ns = last_ns_[process];
    end.reason = static_cast<uint8_t>(trace::EndReason::kStopped);
    builder_.Add(end);
  }
  Trace trace = builder_.Finish(file_bytes);
  trace.recorder = Recorder();
  trace.health.is_truncated = reader.is_cut() || reader.is_bad();
  return trace;
}

}  // namespace gprof
