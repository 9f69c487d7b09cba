#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <sstream>
#include <string_view>

#include "base/units.h"
#include "collect/host/perf_ring.h"
#include "collect/host/python_reader.h"
#include "gprof/trace/env.h"
#include "launch/doctor/doctor.h"

namespace gprof {
namespace {

constexpr uint64_t kMiB = 1u << 20;
constexpr uint64_t kLittleShared = 64 * kMiB, kLittleMemory = 512 * kMiB, kFewProcesses = 64;
constexpr uint64_t kFewFiles = 64, kLittleAddressSpace = uint64_t{1} << 40;
// Of these CUPTI lets only one into a process, or they change how a program runs.
constexpr std::array kOtherProfilers = {"nsys", "nsys-launcher", "ncu", "nvprof", "compute-sanitizer", "cuda-gdb"};

// A number at the begin of a file; nothing for "max" and what is not there.
std::optional<uint64_t> NumberIn(const MachineView& machine, const std::string& path) {
  const std::optional<std::string> text = machine.read(path);
  uint64_t value = 0;
  if (!text || std::from_chars(text->data(), text->data() + text->size(), value).ec != std::errc()) return std::nullopt;
  return value;
}

MachineCheck CheckTracer(const MachineView& machine) {
  MachineCheck check{"tracer", "Tracer", CheckState::kGood, "", ""};
  std::string why;
  const std::string path = machine.find_tracer(&why);
  const Probed probed = path.empty() ? Probed{} : machine.probe(path, "");
  check.detail = path;
  if (!path.empty() && probed.is_loaded) return check;
  check.state = CheckState::kBad;
  check.detail = path.empty() ? why : "'" + path + "' cannot be loaded: " + probed.error;
  check.advice = "reinstall gprof-cli with the tracer (-DGPROF_BUILD_TRACER=ON when building)";
  return check;
}

MachineCheck CheckRunFolder(const MachineView& machine) {
  MachineCheck check{"run_folder", "Shared memory", CheckState::kGood, "", ""};
  std::string why;
  const std::string folder = machine.make_run_folder(&why);
  if (folder.empty()) {
    check.state = CheckState::kBad;
    check.detail = why;
    check.advice =
        "make /dev/shm writable, or set XDG_RUNTIME_DIR or GPROF_RUN_BASE to a private folder; without "
        "it, sessions and --delay do not work and a killed program loses unwritten data";
    return check;
  }
  const std::optional<uint64_t> free = machine.free_bytes(folder);
  check.detail = folder + (!free || *free == UINT64_MAX ? "" : ", " + FormatBytes(*free) + " free");
  const bool is_memory = folder.starts_with("/dev/shm/");
  const std::optional<uint64_t> shared = machine.free_bytes("/dev/shm");
  if (!is_memory && !machine.variable(trace::env::kRunBase)) {
    check.state = CheckState::kWarning;
    check.detail += "; /dev/shm cannot be used" + (shared ? " (" + FormatBytes(*shared) + " free)" : std::string());
    check.advice = "free space in /dev/shm; in a container, use docker run --shm-size=1g";
  } else if (free && *free < kLittleShared) {
    check.state = CheckState::kWarning;
    check.advice = "not enough for several processes; in a container, use docker run --shm-size=1g";
  }
  return check;
}

// "0::/a/b": the folder of this process among the control groups, version 2.
std::string ControlGroup(const MachineView& machine) {
  std::istringstream lines(machine.read("/proc/self/cgroup").value_or(""));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("0::/")) return line.substr(3);
  }
  return "/";
}

struct Room {
  std::optional<uint64_t> limit, used;
  std::optional<uint64_t> Left() const {
    if (!limit) return std::nullopt;
    return *limit > used.value_or(0) ? *limit - used.value_or(0) : 0;
  }
};

// What the kernel gives back when it needs memory is not in use. Bytes of files, which are named in memory.stat.
uint64_t FileBytes(const MachineView& machine, const std::string& folder) {
  std::istringstream fields(machine.read(folder + "memory.stat").value_or(""));
  uint64_t sum = 0, value = 0;
  for (std::string name; fields >> name >> value;) {
    if (name == "active_file" || name == "inactive_file") sum += value;
  }
  return sum;
}

// The tightest of the limits from the group of this process up to the root.
Room RoomIn(const MachineView& machine, const std::string& v2, const std::string& v1_limit,
            const std::string& v1_used) {
  Room tightest;
  std::string group = ControlGroup(machine);
  for (;;) {
    const std::string folder = "/sys/fs/cgroup" + (group == "/" ? "" : group) + "/";
    Room room{NumberIn(machine, folder + v2 + ".max"), NumberIn(machine, folder + v2 + ".current")};
    if (v2 == "memory" && room.used) room.used = *room.used - std::min(*room.used, FileBytes(machine, folder));
    if (room.limit && (!tightest.limit || *room.Left() < *tightest.Left())) tightest = room;
    if (group == "/") break;
    group = group.substr(0, std::max<std::size_t>(group.rfind('/'), 1));
  }
  if (tightest.limit) return tightest;
  const Room old{NumberIn(machine, "/sys/fs/cgroup/" + v1_limit), NumberIn(machine, "/sys/fs/cgroup/" + v1_used)};
  // Version 1 writes "no limit" as a number that no machine has.
  return old.limit && *old.limit < (uint64_t{1} << 60) ? old : Room{};
}

MachineCheck CheckContainer(const MachineView& machine) {
  MachineCheck check{"container", "Container limits", CheckState::kGood, "", ""};
  const Room memory = RoomIn(machine, "memory", "memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes");
  const Room processes = RoomIn(machine, "pids", "pids/pids.max", "pids/pids.current");
  if (memory.limit) check.detail = FormatBytes(*memory.Left()) + " of " + FormatBytes(*memory.limit) + " memory left";
  if (processes.limit) {
    check.detail += (check.detail.empty() ? "" : ", ") + FormatCount(static_cast<int64_t>(*processes.Left())) + " of " +
                    FormatCount(static_cast<int64_t>(*processes.limit)) + " threads left";
  }
  if (check.detail.empty()) check.detail = "no limit on memory or threads";
  if (memory.limit && *memory.Left() < kLittleMemory) {
    check.state = CheckState::kWarning;
    check.advice = "give the container more memory: data waiting to be written counts against the limit";
  } else if (processes.limit && *processes.Left() < kFewProcesses) {
    check.state = CheckState::kWarning;
    check.advice = "allow more threads (docker run --pids-limit): the tracer adds a few per process";
  }
  return check;
}

void Warn(MachineCheck* check, const std::string& what, const std::string& advice) {
  check->state = CheckState::kWarning;
  check->detail += (check->detail.empty() ? "" : "; ") + what;
  check->advice += (check->advice.empty() ? "" : "; ") + advice;
}

MachineCheck CheckLimits(const MachineView& machine) {
  MachineCheck check{"limits", "Limits", CheckState::kGood, "", ""};
  if (const auto bytes = machine.limit(RLIMIT_FSIZE)) {
    Warn(&check, "file size limited to " + FormatBytes(*bytes) + " (ulimit -f)",
         "ulimit -f unlimited; otherwise the trace is cut off at that size");
  }
  if (const auto bytes = machine.limit(RLIMIT_AS); bytes && *bytes < kLittleAddressSpace) {
    Warn(&check, "address space limited to " + FormatBytes(*bytes) + " (ulimit -v)",
         "ulimit -v unlimited: CUDA needs a large address space");
  }
  if (const auto bytes = machine.limit(RLIMIT_MEMLOCK); bytes && *bytes < 64 * 1024) {
    Warn(&check, "locked memory limited to " + FormatBytes(*bytes) + " (ulimit -l)", "ulimit -l unlimited");
  }
  if (const auto files = machine.limit(RLIMIT_NOFILE); files && *files < kFewFiles) {
    Warn(&check, "open files limited to " + std::to_string(*files) + " (ulimit -n)", "ulimit -n 1024");
  }
  if (check.detail.empty()) check.detail = "no relevant limit (ulimit -f, -v, -l, -n)";
  return check;
}

// The value behind `key` in /proc/PID/status.
std::string StatusOf(const MachineView& machine, const std::string& pid, std::string_view key) {
  std::istringstream lines(machine.read("/proc/" + pid + "/status").value_or(""));
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(key)) continue;
    return line.substr(std::min(line.find_first_not_of(" \t", key.size()), line.size()));
  }
  return {};
}

MachineCheck CheckPerfEvents(const MachineView& machine) {
  MachineCheck check{"perf_events", "CPU sampling", CheckState::kGood, "", ""};
  const PerfAnswer answer = machine.try_perf_events();
  check.detail = answer.of_kernel ? "CPU samples and context switches are allowed"
                                  : "CPU samples and context switches are allowed, except inside the kernel";
  if (answer.error == 0) return check;
  const std::string level = machine.read("/proc/sys/kernel/perf_event_paranoid").value_or("");
  int paranoid = 2;
  std::from_chars(level.data(), level.data() + level.size(), paranoid);
  const PerfRefusal refusal = WhyRefused(answer.error, paranoid);
  check.state = answer.error == ENOSYS ? CheckState::kNotHere : CheckState::kWarning;
  check.detail =
      refusal.why +
      ": no CPU samples or context switches; instead, Python is sampled from outside and thread times come from /proc";
  check.advice =
      refusal.advice + "; or profile with --sample-method signal: functions of threads that call CUDA or NVTX";
  return check;
}

// Python is sampled by reading the memory of the program, from a process that is not its parent.
MachineCheck CheckPythonSampling(const MachineView& machine) {
  constexpr unsigned kTraceAnyone = 19;  // CAP_SYS_PTRACE
  MachineCheck check{"python_sampling", "Python sampling", CheckState::kGood, "", ""};
  const std::string restriction = machine.read("/proc/sys/kernel/yama/ptrace_scope").value_or("0");
  const std::string capabilities = StatusOf(machine, "self", "CapEff:");
  uint64_t mask = 0;
  std::from_chars(capabilities.data(), capabilities.data() + capabilities.size(), mask, 16);
  if (restriction.starts_with('0') || (mask >> kTraceAnyone & 1) != 0) {
    check.detail = "the memory of Python programs can be read";
  } else if (restriction.starts_with('1')) {
    check.detail =
        "the memory of the program can be read; that of processes it starts cannot (kernel.yama.ptrace_scope is 1)";
  } else {
    check.state = CheckState::kWarning;
    check.detail = "the memory of other processes cannot be read (kernel.yama.ptrace_scope)";
    check.advice = kLiftReading;
  }
  return check;
}

MachineCheck CheckInjection(const MachineView& machine) {
  MachineCheck check{"injection", "Injected libraries", CheckState::kGood, "none", ""};
  std::string found;
  for (const char* const name : {"CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH", "LD_PRELOAD"}) {
    const std::optional<std::string> value = machine.variable(name);
    if (value && !value->empty()) found += (found.empty() ? "" : "; ") + std::string(name) + "=" + *value;
  }
  if (found.empty()) return check;
  check.detail = found;
  if (found.find("_INJECTION64_PATH") == std::string::npos) return check;
  if (machine.variable(trace::env::kArmed) && found.find("/libgprof-tracer.so") != std::string::npos) {
    check.detail = "programs started here can be attached to (gprof-cli env): " + found;
    return check;
  }
  check.state = CheckState::kWarning;
  check.advice = "possibly another profiler: gprof-cli overrides it for its runs; unset it if it is not needed";
  return check;
}

std::string NameOf(const MachineView& machine, const std::string& pid) {
  std::string name = machine.read("/proc/" + pid + "/comm").value_or("");
  if (!name.empty() && name.back() == '\n') name.pop_back();
  return name;
}

MachineCheck CheckOtherProfilers(const MachineView& machine) {
  constexpr int kMostAncestors = 100;
  MachineCheck check{"other_profiler", "Other profilers", CheckState::kGood, "none active around this process", ""};
  std::string pid = "self";
  for (int i = 0; i < kMostAncestors; ++i) {
    const std::string tracer = StatusOf(machine, pid, "TracerPid:");
    const std::string name = NameOf(machine, pid);
    const bool is_profiler = std::find(kOtherProfilers.begin(), kOtherProfilers.end(), name) != kOtherProfilers.end();
    if (is_profiler || (pid == "self" && !tracer.empty() && tracer != "0")) {
      check.state = CheckState::kWarning;
      check.detail = is_profiler ? "running under " + name : NameOf(machine, tracer) + " traces this process (ptrace)";
      check.advice = "CUPTI supports one tool per process: run gprof-cli without it";
      return check;
    }
    pid = StatusOf(machine, pid, "PPid:");
    if (pid.empty() || pid == "0") break;
  }
  return check;
}

}  // namespace

std::vector<MachineCheck> CheckHost(const MachineView& machine) {
  return {CheckTracer(machine),    CheckRunFolder(machine),     CheckContainer(machine),
          CheckLimits(machine),    CheckPerfEvents(machine),    CheckPythonSampling(machine),
          CheckInjection(machine), CheckOtherProfilers(machine)};
}

std::vector<MachineCheck> Examine(const MachineView& machine) {
  std::vector<MachineCheck> checks = CheckGpu(machine);
  for (MachineCheck& check : CheckHost(machine)) checks.push_back(std::move(check));
  return checks;
}

}  // namespace gprof
