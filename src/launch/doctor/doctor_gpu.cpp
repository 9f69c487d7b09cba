#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>

#include "base/units.h"
#include "launch/doctor/doctor.h"
#include "launch/doctor/kernel_module.h"

namespace gprof {
namespace {

// As in the tracer's search, src/tracer/cupti/library/cupti_find.cpp.
constexpr std::array kMajors = {13, 12, 11};
constexpr std::array kToolkitParts = {"/extras/CUPTI/lib64", "/targets/x86_64-linux/lib", "/targets/sbsa-linux/lib",
                                      "/lib64"};

constexpr char kCuptiAdvice[] =
    "install the CUDA Toolkit, or pip install nvidia-cuda-cupti (nvidia-cuda-cupti-cu12 for CUDA 12), or choose one "
    "with --cupti FILE";

std::string Soname(int major) { return major == 11 ? "libcupti.so.11.8" : "libcupti.so." + std::to_string(major); }

struct Driver {
  Probed library;
  std::string module;  // version of the kernel's half
  bool HasAny() const { return library.is_loaded || !module.empty(); }
};

MachineCheck CheckDriver(const MachineView& machine, const Driver& driver) {
  MachineCheck check{"driver", "NVIDIA driver", CheckState::kGood, "", ""};
  const std::string module = driver.module.empty() ? "" : "version " + driver.module;
  if (!driver.HasAny()) {
    check.state = CheckState::kBad;
    check.detail = "not found: neither /proc/driver/nvidia/version nor libcuda.so.1 (" + driver.library.error + ")";
    check.advice =
        "CUDA cannot be recorded here, only NVTX and what the CPU does. On a machine with a GPU, install the driver; "
        "in a "
        "container, use docker run --gpus all";
    return check;
  }
  if (!driver.library.is_loaded) {
    check.state = CheckState::kBad;
    check.detail = module + ", but libcuda.so.1 cannot be loaded: " + driver.library.error;
    check.advice = "install the driver libraries; in a container, use docker run --gpus all";
    return check;
  }
  const std::string supports = "CUDA " + FormatCudaVersion(driver.library.version);
  check.detail = (module.empty() ? "" : module + ", ") + supports;
  const std::optional<int> status = machine.init_driver();
  if (status == 0) return check;
  check.state = CheckState::kBad;
  check.detail += status ? ", but cuInit fails with error " + std::to_string(*status) : ", but cuInit hangs";
  check.advice = !status          ? "check the kernel log (dmesg) for NVRM messages"
                 : *status == 100 ? "no GPU is visible: is CUDA_VISIBLE_DEVICES empty?"
                 : *status == 803 ? "libcuda.so.1 does not match the version of the kernel module: reboot after an "
                                    "update, or mount the matching library into the container"
                                  : "run nvidia-smi for details";
  return check;
}

MachineCheck CheckDevices(const MachineView& machine, const Driver& driver) {
  MachineCheck check{"devices", "Device files", CheckState::kGood, "", ""};
  std::vector<std::string> gpus;
  for (const std::string& name : machine.list("/dev")) {
    const bool is_gpu = name.starts_with("nvidia") && name.size() > 6 &&
                        std::all_of(name.begin() + 6, name.end(), [](char c) { return std::isdigit(c); });
    if (is_gpu) gpus.push_back("/dev/" + name);
  }
  std::sort(gpus.begin(), gpus.end());
  if (gpus.empty()) {
    const bool is_wsl = machine.try_open("/dev/dxg") == 0;
    check.state = is_wsl ? CheckState::kGood : driver.HasAny() ? CheckState::kBad : CheckState::kNotHere;
    check.detail = is_wsl ? "/dev/dxg (Windows Subsystem for Linux)" : "no /dev/nvidia0";
    if (check.state == CheckState::kBad)
      check.advice = "in a container, use docker run --gpus all; otherwise run nvidia-smi once as root";
    return check;
  }
  std::vector<std::string> all = gpus;
  all.insert(all.end(), {"/dev/nvidiactl", "/dev/nvidia-uvm"});
  for (const std::string& path : all) {
    const int error = machine.try_open(path);
    if (error == 0) continue;
    check.state = CheckState::kBad;
    check.detail += (check.detail.empty() ? "" : "; ") + path + ": " + strerror(error);
    check.advice =
        error == EACCES || error == EPERM
            ? "no permission to open it: join the group that owns it (ls -l), or allow the device in the cgroup"
            : "in a container, use docker run --gpus all; otherwise run nvidia-smi once as root";
  }
  if (check.detail.empty()) check.detail = std::to_string(gpus.size()) + (gpus.size() == 1 ? " GPU" : " GPUs");
  return check;
}

// The candidates that the tracer tries in a program that brings no CUDA libraries of its own.
std::vector<std::string> CuptiCandidates(const MachineView& machine, uint32_t driver_version) {
  std::vector<std::string> candidates;
  const auto add = [&](const std::string& folder) {
    for (const int major : kMajors) {
      const bool suits = driver_version == 0 || major <= static_cast<int>(driver_version / 1000);
      if (suits) candidates.push_back(folder + Soname(major));
    }
  };
  add("");
  for (const char* const name : {"CUDA_HOME", "CUDA_PATH", ""}) {
    const std::string root = *name == '\0' ? "/usr/local/cuda" : machine.variable(name).value_or("");
    for (const char* const part : kToolkitParts) {
      if (root.starts_with('/')) add(root + part + "/");
    }
  }
  std::string ignored;
  const std::string tracer = machine.find_tracer(&ignored);
  if (!tracer.empty()) add(tracer.substr(0, tracer.rfind('/') + 1));
  return candidates;
}

MachineCheck CheckCupti(const MachineView& machine, const Driver& driver) {
  MachineCheck check{"cupti", "libcupti", CheckState::kGood, "", ""};
  std::string last_error;
  for (const std::string& candidate : CuptiCandidates(machine, driver.library.version)) {
    if (candidate.front() == '/' && !machine.read(candidate)) continue;
    const Probed cupti = machine.probe(candidate, "cuptiGetVersion");
    if (!cupti.is_loaded) {
      // What the loader does not find by name is no error of the file.
      if (candidate.front() == '/') last_error = candidate + ": " + cupti.error;
      continue;
    }
    // From CUDA 13.2 on it does not even tell its version where there is no driver.
    if (cupti.status != 0 && driver.library.is_loaded) {
      last_error = cupti.path + ": cuptiGetVersion fails with error " + std::to_string(cupti.status);
      continue;
    }
    check.detail = cupti.path;
    if (cupti.status == 0) check.detail += " (CUPTI API " + std::to_string(cupti.version) + ")";
    if (driver.library.is_loaded) {
      check.detail += ", compatible with CUDA driver " + FormatCudaVersion(driver.library.version);
    } else {
      check.state = CheckState::kNotHere;
      check.detail += "; nothing to record without a driver";
    }
    check.detail += ". A libcupti from the program's own packages takes precedence";
    return check;
  }
  check.state = driver.HasAny() ? CheckState::kBad : CheckState::kNotHere;
  check.detail = "no version compatible with the driver in the library path, CUDA_HOME, CUDA_PATH or /usr/local/cuda" +
                 (last_error.empty() ? std::string() : " (" + last_error + ")");
  if (check.state == CheckState::kBad) {
    check.state = CheckState::kWarning;
    check.detail += "; programs that ship their own, such as PyTorch, are still recorded";
    check.advice = kCuptiAdvice;
  }
  return check;
}

MachineCheck CheckCounters(const MachineView& machine) {
  MachineCheck check{"gpu_counters", "GPU counters", CheckState::kNotHere, "no driver", ""};
  const std::optional<std::string> parameters = machine.read("/proc/driver/nvidia/params");
  if (!parameters) return check;
  check.state = CheckState::kGood;
  const bool is_restricted = parameters->find("RmProfilingAdminOnly: 1") != std::string::npos;
  check.detail = is_restricted ? "restricted to administrators (RmProfilingAdminOnly: 1); gprof-cli does not need them"
                               : "available to all users";
  return check;
}

}  // namespace

std::vector<MachineCheck> CheckGpu(const MachineView& machine) {
  const Driver driver{machine.probe("libcuda.so.1", "cuDriverGetVersion"),
                      KernelModuleVersion(machine.read("/proc/driver/nvidia/version").value_or(""))};
  return {CheckDriver(machine, driver), CheckDevices(machine, driver), CheckCupti(machine, driver),
          CheckCounters(machine)};
}

}  // namespace gprof
