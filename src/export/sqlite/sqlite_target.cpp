// What was recorded, where and when: processes, threads, devices, contexts, streams, and what is known to be missing.
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <set>
#include <utility>

#include "export/sqlite/sqlite_export.h"
#include "gprof/version.h"

namespace gprof {
namespace {

// The generation of the schema that the tables follow.
constexpr std::string_view kSchemaMajor = "3", kSchemaMinor = "24", kSchemaMicro = "14";

constexpr std::string_view kGpuColumns =
    "vmId INTEGER NOT NULL, id INTEGER NOT NULL, name TEXT, busLocation TEXT, isDiscrete INTEGER, l2CacheSize INTEGER, "
    "totalMemory INTEGER, memoryBandwidth INTEGER, clockRate INTEGER, smCount INTEGER, pwGpuId INTEGER, uuid TEXT, "
    "luid INTEGER, chipName TEXT, cuDevice INTEGER, ctxswDevPath TEXT, ctrlDevPath TEXT, revision INTEGER, "
    "nodeMask INTEGER, constantMemory INTEGER, maxIPC INTEGER, maxRegistersPerBlock INTEGER, maxShmemPerBlock INTEGER, "
    "maxShmemPerBlockOptin INTEGER, maxShmemPerSm INTEGER, maxRegistersPerSm INTEGER, threadsPerWarp INTEGER, "
    "asyncEngines INTEGER, maxWarpsPerSm INTEGER, maxBlocksPerSm INTEGER, maxThreadsPerBlock INTEGER, "
    "maxBlockDimX INTEGER, maxBlockDimY INTEGER, maxBlockDimZ INTEGER, maxGridDimX INTEGER, maxGridDimY INTEGER, "
    "maxGridDimZ INTEGER, computeMajor INTEGER, computeMinor INTEGER, smMajor INTEGER, smMinor INTEGER";

constexpr std::string_view kSqliteDeviceColumns =
    "gpuId INTEGER, cudaId INTEGER NOT NULL, pid INTEGER NOT NULL, uuid TEXT, numMultiprocessors INTEGER";

constexpr std::string_view kSqliteContextColumns =
    "nullStreamId INTEGER NOT NULL, hwId INTEGER NOT NULL, vmId INTEGER NOT NULL, processId INTEGER NOT NULL, "
    "deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, parentContextId INTEGER, isGreenContext INTEGER, "
    "numMultiprocessors INTEGER";

constexpr std::string_view kSqliteStreamColumns =
    "streamId INTEGER NOT NULL, hwId INTEGER NOT NULL, vmId INTEGER NOT NULL, processId INTEGER NOT NULL, "
    "contextId INTEGER NOT NULL, priority INTEGER NOT NULL, flag INTEGER NOT NULL";

constexpr std::string_view kDiagnosticColumns =
    "timestamp INTEGER NOT NULL, timestampType INTEGER NOT NULL, source INTEGER NOT NULL, severity INTEGER NOT NULL, "
    "text TEXT NOT NULL, globalPid INTEGER";

constexpr std::string_view kNameValueColumns = "name TEXT NOT NULL, value TEXT";

int64_t HardwareId(const SqliteExport& out, uint32_t process) { return out.MachineId(process) >> 56; }

std::string UtcText(int64_t epoch_ns) {
  const std::time_t seconds = epoch_ns / 1'000'000'000;
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday,
                     utc.tm_hour, utc.tm_min, utc.tm_sec);
}

// Wall-clock time of the beginning of the trace, by the anchor with the narrowest bracket.
std::optional<int64_t> EpochNs(const Trace& trace) {
  const auto best = std::min_element(trace.clocks.begin(), trace.clocks.end(), [](const Clock& a, const Clock& b) {
    return a.anchor.uncertainty_ns < b.anchor.uncertainty_ns;
  });
  if (best == trace.clocks.end() || best->anchor.realtime_ns == 0) return std::nullopt;
  return static_cast<int64_t>(best->anchor.realtime_ns) +
         (trace.start_ns - static_cast<int64_t>(best->anchor.monotonic_ns));
}

void WriteSession(SqliteExport& out) {
  const Trace& trace = out.trace;
  SqliteTable details(out.database, "ANALYSIS_DETAILS",
                      "globalVid INTEGER NOT NULL, duration INTEGER NOT NULL, startTime INTEGER NOT NULL, "
                      "stopTime INTEGER NOT NULL");
  const int64_t machine = trace.processes.empty() ? int64_t{1} << 48 : out.MachineId(0);
  details.Add(machine, trace.end_ns - trace.start_ns, trace.start_ns, trace.end_ns);

  SqliteTable start(out.database, "TARGET_INFO_SESSION_START_TIME",
                    "utcEpochNs INTEGER, utcTime TEXT, localTime TEXT, systemClockNs INTEGER");
  const std::optional<int64_t> epoch_ns = EpochNs(trace);
  const auto utc = epoch_ns ? std::optional(UtcText(*epoch_ns)) : std::nullopt;
  start.Add(epoch_ns, utc, std::nullopt, trace.start_ns);
}

void WriteProcesses(SqliteExport& out) {
  SqliteTable processes(out.database, "PROCESSES", "globalPid INTEGER, pid INTEGER, name TEXT");
  SqliteTable threads(out.database, "ThreadNames", "nameId INTEGER NOT NULL, priority INTEGER, globalTid INTEGER");
  SqliteTable ranks(out.database, "MPI_RANKS", "globalTid INTEGER NOT NULL, rank INTEGER NOT NULL");
  SqliteTable system(out.database, "TARGET_INFO_SYSTEM_ENV",
                     "globalVid INTEGER, devStateName TEXT NOT NULL, name TEXT NOT NULL, nameEnum INTEGER NOT NULL, "
                     "value TEXT NOT NULL");
  constexpr int kHostName = 619, kDriverVersion = 611;
  std::set<int64_t> machines;
  for (uint32_t p = 0; p < out.trace.processes.size(); ++p) {
    const Process& process = out.trace.processes[p];
    processes.Add(out.ProcessId(p), process.pid, out.clean(process.name));
    if (process.rank >= 0) ranks.Add(out.ThreadId(p, kNone), process.rank);
    if (!machines.insert(out.MachineId(p)).second) continue;
    system.Add(out.MachineId(p), "gprof-cli", "Hostname", kHostName, out.clean(process.host));
    system.Add(out.MachineId(p), "gprof-cli", "CudaDriverVersion", kDriverVersion,
               std::to_string(process.driver_version));
  }
  for (uint32_t t = 0; t < out.trace.threads.size(); ++t) {
    threads.Add(out.NameStringId(out.trace.threads[t].name), std::nullopt, out.ThreadId(kNone, t));
  }
}

// "GPU-9c1b…" without the word in front.
std::string_view BareUuid(std::string_view uuid) {
  constexpr std::string_view kPrefix = "GPU-";
  return uuid.starts_with(kPrefix) ? uuid.substr(kPrefix.size()) : uuid;
}

void WriteGpu(SqliteExport& out, SqliteTable& table, const Device& device) {
  const trace::DeviceRecord& f = device.properties;
  const std::string bus = fmt::format("{:04x}:{:02x}:{:02x}.0", f.pcie_domain, f.pcie_bus, f.pcie_device);
  const auto warps = f.warp_size == 0 ? std::optional<int64_t>() : UnlessZero(f.max_threads_per_sm / f.warp_size);
  table.Add(out.MachineId(device.process), device.ordinal, out.clean(device.name), bus, std::nullopt,
            UnlessZero(f.l2_bytes), UnlessZero(f.memory_bytes), UnlessZero(f.memory_bytes_per_second),
            UnlessZero(int64_t{f.sm_clock_khz} * 1000), UnlessZero(f.sm_count), device.ordinal,
            BareUuid(out.clean(device.uuid)), std::nullopt, std::nullopt, device.ordinal, std::nullopt, std::nullopt,
            std::nullopt, std::nullopt, std::nullopt, std::nullopt, UnlessZero(f.max_registers_per_block),
            UnlessZero(f.max_shared_bytes_per_block), std::nullopt, UnlessZero(f.max_shared_bytes_per_sm),
            UnlessZero(f.max_registers_per_sm), UnlessZero(f.warp_size), std::nullopt, warps,
            UnlessZero(f.max_blocks_per_sm), UnlessZero(f.max_threads_per_block), std::nullopt, std::nullopt,
            std::nullopt, std::nullopt, std::nullopt, std::nullopt, f.compute_major, f.compute_minor, f.compute_major,
            f.compute_minor);
}

void WriteDevices(SqliteExport& out) {
  const Trace& trace = out.trace;
  SqliteTable gpus(out.database, "TARGET_INFO_GPU", kGpuColumns);
  for (const Device& device : trace.devices) WriteGpu(out, gpus, device);

  // Devices have one number in all processes here, so the number that CUDA gave them is the same.
  SqliteTable devices(out.database, "TARGET_INFO_CUDA_DEVICE", kSqliteDeviceColumns);
  std::set<std::pair<uint32_t, uint32_t>> used;
  for (const Context& context : trace.contexts) {
    if (context.device != kNone && context.process != kNone) used.emplace(context.process, context.device);
  }
  for (const auto& [process, d] : used) {
    const Device& device = trace.devices[d];
    devices.Add(device.ordinal, device.ordinal, trace.processes[process].pid, BareUuid(out.clean(device.uuid)),
                UnlessZero(device.properties.sm_count));
  }
}

void WriteStreams(SqliteExport& out) {
  const Trace& trace = out.trace;
  constexpr int kVirtualMachine = 1, kNotGreen = 0;
  SqliteTable contexts(out.database, "TARGET_INFO_CUDA_CONTEXT_INFO", kSqliteContextColumns);
  for (const Context& c : trace.contexts) {
    if (c.process == kNone) continue;
    contexts.Add(c.null_stream, HardwareId(out, c.process), kVirtualMachine, trace.processes[c.process].pid,
                 out.DeviceId(c.device), c.id, std::nullopt, kNotGreen, std::nullopt);
  }
  SqliteTable streams(out.database, "TARGET_INFO_CUDA_STREAM", kSqliteStreamColumns);
  enum class Flag : uint8_t { kDefault = 1, kNonBlocking = 2, kNull = 3 };
  for (const Stream& s : trace.streams) {
    if (s.process == kNone) continue;
    const Flag flag = s.is_default ? Flag::kNull : s.is_non_blocking ? Flag::kNonBlocking : Flag::kDefault;
    streams.Add(s.id, HardwareId(out, s.process), kVirtualMachine, trace.processes[s.process].pid, s.context,
                static_cast<uint32_t>(s.priority), flag);
  }
}

// What a reader has to know before he trusts the other tables.
std::vector<std::string> HealthTexts(const TraceHealth& h) {
  std::vector<std::string> texts;
  const auto add = [&texts](uint64_t count, std::string_view what) {
    if (count != 0) texts.push_back(fmt::format("{} {}", count, what));
  };
  add(h.damaged_chunks, "chunks of the trace are damaged");
  add(h.missing_chunks, "chunks of the trace are missing");
  add(h.lost_records, "records were lost while recording");
  add(h.bad_times, "operations without valid times were skipped");
  add(h.unmatched_launches, "launch calls have no GPU operation");
  add(h.unmatched_ops, "GPU operations have no launch call");
  add(h.unfinished_processes, "processes did not finish recording");
  add(h.gpu_pauses, "times GPU work was not recorded, as the program's own profiler recorded it");
  if (h.is_truncated) texts.emplace_back("the trace ends in the middle of a chunk");
  return texts;
}

void WriteDiagnostics(SqliteExport& out) {
  SqliteTable table(out.database, "DIAGNOSTIC_EVENT", kDiagnosticColumns);
  constexpr int kTargetTime = 1, kInjection = 1, kAnalysis = 3, kWarning = 2;
  for (const Notice& notice : out.trace.notices) {
    table.Add(out.Time(notice.time_ns), kTargetTime, kInjection, notice.level, out.clean(notice.message),
              out.ProcessId(notice.process));
  }
  for (const std::string& text : HealthTexts(out.trace.health)) {
    table.Add(0, kTargetTime, kAnalysis, kWarning, text, std::nullopt);
  }
}

void WriteMetaData(SqliteExport& out) {
  SqliteTable capture(out.database, "META_DATA_CAPTURE", kNameValueColumns);
  for (std::size_t i = 0; i < out.trace.processes.size(); ++i) {
    const Process& process = out.trace.processes[i];
    capture.Add(fmt::format("PROCESS_{}:PID", i), std::to_string(process.pid));
    capture.Add(fmt::format("PROCESS_{}:COMMAND", i), out.clean(process.command_line));
    capture.Add(fmt::format("PROCESS_{}:CAPTURE_MODE", i), out.clean(process.capture_mode));
  }
  SqliteTable exported(out.database, "META_DATA_EXPORT", kNameValueColumns);
  exported.Add("EXPORT_PRODUCT_NAME", "gprof-cli");
  exported.Add("EXPORT_PRODUCT_VERSION", kVersion);
  exported.Add("EXPORT_SCHEMA_VERSION", fmt::format("{}.{}.{}", kSchemaMajor, kSchemaMinor, kSchemaMicro));
  exported.Add("EXPORT_SCHEMA_VERSION_MAJOR", kSchemaMajor);
  exported.Add("EXPORT_SCHEMA_VERSION_MINOR", kSchemaMinor);
  exported.Add("EXPORT_SCHEMA_VERSION_MICRO", kSchemaMicro);
  exported.Add("EXPORT_PARAM_EXPORT_TYPE", "SQLite");
  exported.Add("EXPORT_PARAM_LAZY", "true");
  exported.Add("EXPORT_PARAM_TIME_SHIFT", std::to_string(-out.trace.start_ns));
}

}  // namespace

void WriteSqliteTarget(SqliteExport& out) {
  WriteSession(out);
  WriteProcesses(out);
  WriteDevices(out);
  WriteStreams(out);
  WriteDiagnostics(out);
  WriteMetaData(out);
}

}  // namespace gprof
