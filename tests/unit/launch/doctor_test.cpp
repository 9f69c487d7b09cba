#include "launch/doctor/doctor.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <map>

namespace gprof {
namespace {

// A healthy machine with two GPUs; tests take things away from it.
struct FakeMachine {
  std::map<std::string, std::string> files = {
      {"/proc/driver/nvidia/version",
       "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159  Release Build\n"},
      {"/proc/driver/nvidia/params", "ResmanDebugLevel: 0\nRmProfilingAdminOnly: 0\n"},
      {"/proc/sys/kernel/perf_event_paranoid", "2\n"},
      {"/proc/self/cgroup", "0::/\n"},
      {"/proc/self/comm", "gprof-cli\n"},
      {"/proc/self/status", "Name:\tgprof-cli\nPPid:\t10\nTracerPid:\t0\n"},
      {"/proc/10/comm", "bash\n"},
      {"/proc/10/status", "Name:\tbash\nPPid:\t0\nTracerPid:\t0\n"}};
  std::map<std::string, int> devices = {
      {"/dev/nvidia0", 0}, {"/dev/nvidia1", 0}, {"/dev/nvidiactl", 0}, {"/dev/nvidia-uvm", 0}};
  std::map<std::string, std::string> variables;
  std::map<int, uint64_t> limits;
  std::map<std::string, uint64_t> free = {{"/dev/shm/gprof-cli-0", uint64_t{8} << 30}, {"/dev/shm", uint64_t{8} << 30}};
  std::map<std::string, Probed> libraries = {{"libcuda.so.1", {true, "/lib/libcuda.so.1", "", 13000, 0}},
                                             {"/opt/lib/gprof-cli/libgprof-tracer.so", {true, "", "", 0, 0}},
                                             {"libcupti.so.13", {true, "/usr/lib/libcupti.so.13", "", 130000, 0}}};
  std::optional<int> init = 0;
  PerfAnswer perf;
  std::string tracer = "/opt/lib/gprof-cli/libgprof-tracer.so", run_folder = "/dev/shm/gprof-cli-0";
  mutable std::vector<std::string> probed;

  MachineView View() const {
    MachineView view;
    view.read = [this](const std::string& path) -> std::optional<std::string> {
      const auto found = files.find(path);
      return found == files.end() ? std::nullopt : std::optional<std::string>(found->second);
    };
    view.list = [this](const std::string&) {
      std::vector<std::string> names = {"null", "nvidia-caps", "nvidia-modeset"};
      for (const auto& [path, error] : devices) names.push_back(path.substr(5));
      return names;
    };
    view.try_open = [this](const std::string& path) {
      const auto found = devices.find(path);
      return found == devices.end() ? ENOENT : found->second;
    };
    view.variable = [this](const std::string& name) -> std::optional<std::string> {
      const auto found = variables.find(name);
      return found == variables.end() ? std::nullopt : std::optional<std::string>(found->second);
    };
    view.limit = [this](int resource) -> std::optional<uint64_t> {
      const auto found = limits.find(resource);
      return found == limits.end() ? std::nullopt : std::optional<uint64_t>(found->second);
    };
    view.free_bytes = [this](const std::string& folder) -> std::optional<uint64_t> {
      const auto found = free.find(folder);
      return found == free.end() ? std::nullopt : std::optional<uint64_t>(found->second);
    };
    view.probe = [this](const std::string& library, const std::string&) {
      probed.push_back(library);
      const auto found = libraries.find(library);
      return found == libraries.end() ? Probed{false, "", "No such file", 0, 0} : found->second;
    };
    view.init_driver = [this] { return init; };
    view.find_tracer = [this](std::string* why) {
      if (tracer.empty()) *why = "cannot find the tracer";
      return tracer;
    };
    view.try_perf_events = [this] { return perf; };
    view.make_run_folder = [this](std::string* why) {
      if (run_folder.empty()) *why = "'/tmp/gprof-cli-0' belongs to another user";
      return run_folder;
    };
    return view;
  }

  MachineCheck Find(const std::string& id) const {
    for (const MachineCheck& check : Examine(View())) {
      if (check.id == id) return check;
    }
    ADD_FAILURE() << "no check " << id;
    return {};
  }

  FakeMachine& WithoutGpu() {
    files.erase("/proc/driver/nvidia/version");
    files.erase("/proc/driver/nvidia/params");
    devices.clear();
    libraries.erase("libcuda.so.1");
    return *this;
  }
};

bool Says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Doctor, FindsNothingOnAHealthyMachine) {
  const FakeMachine machine;
  for (const MachineCheck& check : Examine(machine.View())) {
    EXPECT_EQ(check.state, CheckState::kGood) << check.id << ": " << check.detail;
    EXPECT_EQ(check.advice, "") << check.id;
    EXPECT_NE(check.detail, "") << check.id;
  }
  EXPECT_EQ(machine.Find("driver").detail, "version 580.159, CUDA 13.0");
  EXPECT_EQ(machine.Find("devices").detail, "2 GPUs");
}

TEST(Doctor, EveryFindingHasAdvice) {
  FakeMachine machine;
  machine.WithoutGpu();
  machine.tracer = machine.run_folder = "";
  machine.limits = {{RLIMIT_FSIZE, 1000}, {RLIMIT_AS, 1 << 30}, {RLIMIT_MEMLOCK, 0}, {RLIMIT_NOFILE, 10}};
  machine.files["/proc/sys/kernel/perf_event_paranoid"] = "4";
  for (const MachineCheck& check : Examine(machine.View())) {
    const bool is_finding = check.state == CheckState::kBad || check.state == CheckState::kWarning;
    EXPECT_EQ(is_finding, !check.advice.empty()) << check.id << ": " << check.detail;
  }
}

TEST(Doctor, MachineWithoutGpuHasOneThingThatDoesNotWork) {
  FakeMachine machine;
  machine.WithoutGpu();
  EXPECT_EQ(machine.Find("driver").state, CheckState::kBad);
  for (const char* const id : {"devices", "cupti", "gpu_counters"}) {
    EXPECT_EQ(machine.Find(id).state, CheckState::kNotHere) << id;
  }
}

TEST(Doctor, HalfADriver) {
  FakeMachine machine;
  machine.libraries["libcuda.so.1"] = {false, "", "version `X' not found", 0, 0};
  EXPECT_EQ(machine.Find("driver").state, CheckState::kBad);
  EXPECT_TRUE(Says(machine.Find("driver").detail, "version `X' not found"));
}

TEST(Doctor, DriverThatDoesNotStart) {
  FakeMachine machine;
  machine.init = 803;
  EXPECT_EQ(machine.Find("driver").state, CheckState::kBad);
  EXPECT_TRUE(Says(machine.Find("driver").detail, "803"));
  EXPECT_TRUE(Says(machine.Find("driver").advice, "kernel module"));
  machine.init = std::nullopt;
  EXPECT_TRUE(Says(machine.Find("driver").detail, "cuInit hangs"));
}

TEST(Doctor, DeviceFiles) {
  FakeMachine machine;
  machine.devices["/dev/nvidia1"] = EACCES;
  EXPECT_EQ(machine.Find("devices").state, CheckState::kBad);
  EXPECT_TRUE(Says(machine.Find("devices").detail, "/dev/nvidia1: Permission denied"));
  machine.devices.clear();
  EXPECT_EQ(machine.Find("devices").state, CheckState::kBad);
  machine.devices["/dev/dxg"] = 0;
  EXPECT_EQ(machine.Find("devices").state, CheckState::kGood);
}

TEST(Doctor, CuptiMustNotBeNewerThanTheDriver) {
  FakeMachine machine;
  machine.libraries["libcuda.so.1"].version = 12040;
  machine.libraries["libcupti.so.12"] = {true, "/usr/lib/libcupti.so.12", "", 26, 0};
  EXPECT_TRUE(Says(machine.Find("cupti").detail, "/usr/lib/libcupti.so.12"));
  EXPECT_EQ(std::count(machine.probed.begin(), machine.probed.end(), "libcupti.so.13"), 0);
}

TEST(Doctor, CuptiOfTheToolkit) {
  FakeMachine machine;
  machine.libraries.erase("libcupti.so.13");
  EXPECT_EQ(machine.Find("cupti").state, CheckState::kWarning);
  EXPECT_TRUE(Says(machine.Find("cupti").advice, "pip install nvidia-cuda-cupti"));
  const std::string path = "/opt/cuda/extras/CUPTI/lib64/libcupti.so.13";
  machine.variables["CUDA_HOME"] = "/opt/cuda";
  machine.files[path] = "ELF";
  machine.libraries[path] = {true, path, "", 130000, 0};
  EXPECT_EQ(machine.Find("cupti").state, CheckState::kGood);
  machine.libraries[path] = {false, "", "wrong ELF class", 0, 0};
  EXPECT_TRUE(Says(machine.Find("cupti").detail, "wrong ELF class"));
}

TEST(Doctor, CuptiThatAnswersNothing) {
  FakeMachine machine;
  machine.libraries["libcupti.so.13"] = {true, "/usr/lib/libcupti.so.13", "", 0, 999};
  EXPECT_EQ(machine.Find("cupti").state, CheckState::kWarning);
  EXPECT_TRUE(Says(machine.Find("cupti").detail, "error 999"));
  // Without a driver that is how it should be.
  machine.WithoutGpu();
  EXPECT_EQ(machine.Find("cupti").state, CheckState::kNotHere);
  EXPECT_TRUE(Says(machine.Find("cupti").detail, "/usr/lib/libcupti.so.13; nothing to record without a driver"));
}

TEST(Doctor, CountersForAdministrators) {
  FakeMachine machine;
  machine.files["/proc/driver/nvidia/params"] = "RmProfilingAdminOnly: 1\n";
  EXPECT_EQ(machine.Find("gpu_counters").state, CheckState::kGood);
  EXPECT_TRUE(Says(machine.Find("gpu_counters").detail, "administrators"));
}

TEST(Doctor, Tracer) {
  FakeMachine machine;
  machine.libraries[machine.tracer] = {false, "", "GLIBC_2.99 not found", 0, 0};
  EXPECT_EQ(machine.Find("tracer").state, CheckState::kBad);
  EXPECT_TRUE(Says(machine.Find("tracer").detail, "GLIBC_2.99"));
  machine.tracer = "";
  EXPECT_EQ(machine.Find("tracer").state, CheckState::kBad);
}

TEST(Doctor, SharedMemory) {
  FakeMachine machine;
  machine.free[machine.run_folder] = 40 << 20;
  EXPECT_EQ(machine.Find("run_folder").state, CheckState::kWarning);
  machine.run_folder = "/tmp/gprof-cli-0";
  machine.free = {{"/dev/shm", 1 << 20}, {"/tmp/gprof-cli-0", uint64_t{8} << 30}};
  EXPECT_EQ(machine.Find("run_folder").state, CheckState::kWarning);
  EXPECT_TRUE(Says(machine.Find("run_folder").advice, "--shm-size"));
  machine.run_folder = "";
  EXPECT_EQ(machine.Find("run_folder").state, CheckState::kBad);
  EXPECT_TRUE(Says(machine.Find("run_folder").detail, "another user"));
}

TEST(Doctor, ContainerVersion2) {
  FakeMachine machine;
  machine.files["/proc/self/cgroup"] = "1:name=systemd:/x\n0::/a/b\n";
  machine.files["/sys/fs/cgroup/a/b/memory.max"] = "max\n";
  machine.files["/sys/fs/cgroup/a/memory.max"] = "1000000000\n";
  machine.files["/sys/fs/cgroup/a/memory.current"] = "900000000\n";
  EXPECT_EQ(machine.Find("container").state, CheckState::kWarning) << machine.Find("container").detail;
  // Most of it is the contents of files, which the kernel can drop.
  machine.files["/sys/fs/cgroup/a/memory.stat"] = "anon 1\nactive_file 400000000\ninactive_file 400000000\n";
  EXPECT_EQ(machine.Find("container").state, CheckState::kGood) << machine.Find("container").detail;
  machine.files["/sys/fs/cgroup/pids.max"] = "100\n";
  machine.files["/sys/fs/cgroup/pids.current"] = "90\n";
  EXPECT_EQ(machine.Find("container").state, CheckState::kWarning);
  EXPECT_TRUE(Says(machine.Find("container").detail, "10 of 100 threads left"));
}

TEST(Doctor, ContainerVersion1) {
  FakeMachine machine;
  machine.files["/sys/fs/cgroup/memory/memory.limit_in_bytes"] = "9223372036854771712\n";
  EXPECT_EQ(machine.Find("container").state, CheckState::kGood);
  machine.files["/sys/fs/cgroup/memory/memory.limit_in_bytes"] = "100000000\n";
  EXPECT_EQ(machine.Find("container").state, CheckState::kWarning);
}

TEST(Doctor, Limits) {
  FakeMachine machine;
  machine.limits[RLIMIT_FSIZE] = 1 << 20;
  EXPECT_EQ(machine.Find("limits").state, CheckState::kWarning);
  EXPECT_TRUE(Says(machine.Find("limits").detail, "ulimit -f"));
  machine.limits = {{RLIMIT_NOFILE, 1024}, {RLIMIT_MEMLOCK, 8 << 20}};
  EXPECT_EQ(machine.Find("limits").state, CheckState::kGood);
}

TEST(Doctor, PerfEvents) {
  FakeMachine machine;
  EXPECT_EQ(machine.Find("perf_events").state, CheckState::kGood);
  machine.perf = {0, false};
  EXPECT_TRUE(Says(machine.Find("perf_events").detail, "except inside the kernel"));
  machine.perf = {EACCES, false};
  machine.files["/proc/sys/kernel/perf_event_paranoid"] = "4\n";
  EXPECT_EQ(machine.Find("perf_events").state, CheckState::kWarning);
  EXPECT_TRUE(Says(machine.Find("perf_events").advice, "kernel.perf_event_paranoid=2"));
  machine.perf = {EPERM, false};
  machine.files["/proc/sys/kernel/perf_event_paranoid"] = "2\n";
  EXPECT_TRUE(Says(machine.Find("perf_events").advice, "--cap-add PERFMON"));
  machine.perf = {ENOSYS, false};
  EXPECT_EQ(machine.Find("perf_events").state, CheckState::kNotHere);
}

TEST(Doctor, PythonSampling) {
  FakeMachine machine;
  EXPECT_EQ(machine.Find("python_sampling").state, CheckState::kGood);
  machine.files["/proc/sys/kernel/yama/ptrace_scope"] = "1\n";
  EXPECT_EQ(machine.Find("python_sampling").state, CheckState::kGood);
  EXPECT_TRUE(Says(machine.Find("python_sampling").detail, "processes it starts cannot"));
  machine.files["/proc/sys/kernel/yama/ptrace_scope"] = "2\n";
  EXPECT_EQ(machine.Find("python_sampling").state, CheckState::kWarning);
  EXPECT_TRUE(Says(machine.Find("python_sampling").advice, "--cap-add SYS_PTRACE"));
  machine.files["/proc/self/status"] = "Name:\tgprof-cli\nCapEff:\t0000000000080000\nPPid:\t10\nTracerPid:\t0\n";
  EXPECT_EQ(machine.Find("python_sampling").state, CheckState::kGood);
}

TEST(Doctor, Injection) {
  FakeMachine machine;
  machine.variables["LD_PRELOAD"] = "/lib/libjemalloc.so";
  EXPECT_EQ(machine.Find("injection").state, CheckState::kGood);
  EXPECT_TRUE(Says(machine.Find("injection").detail, "libjemalloc"));
  machine.variables["CUDA_INJECTION64_PATH"] = "/opt/nsys/libToolsInjection64.so";
  EXPECT_EQ(machine.Find("injection").state, CheckState::kWarning);
}

TEST(Doctor, OtherProfilers) {
  FakeMachine machine;
  machine.files["/proc/10/status"] = "Name:\tbash\nPPid:\t5\nTracerPid:\t0\n";
  machine.files["/proc/5/comm"] = "nsys\n";
  EXPECT_EQ(machine.Find("other_profiler").state, CheckState::kWarning);
  EXPECT_TRUE(Says(machine.Find("other_profiler").detail, "nsys"));
  machine.files.erase("/proc/5/comm");
  EXPECT_EQ(machine.Find("other_profiler").state, CheckState::kGood);
  machine.files["/proc/self/status"] = "PPid:\t10\nTracerPid:\t77\n";
  machine.files["/proc/77/comm"] = "gdb\n";
  EXPECT_TRUE(Says(machine.Find("other_profiler").detail, "gdb traces"));
}

}  // namespace
}  // namespace gprof
