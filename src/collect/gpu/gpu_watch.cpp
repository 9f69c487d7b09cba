#include "collect/gpu/gpu_watch.h"

#include <cmath>
#include <fstream>
#include <iterator>
#include <string_view>
#include <utility>

#include "gprof/trace/env.h"

namespace gprof {
namespace {

struct Limit {
  uint64_t mask;
  const char* name;
};
constexpr Limit kLimits[] = {{0x2, "application clocks"}, {0x4, "power"},    {0x8, "hardware"},
                             {0x10, "sync boost"},        {0x20, "heat"},    {0x40, "heat (hardware)"},
                             {0x80, "power brake"},       {0x100, "display"}};

std::string FirstLine(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string line;
  std::getline(file, line);
  return line;
}

// The variable of the environment of a process; empty where it has none, or belongs to somebody else.
std::string VariableOf(int64_t pid, std::string_view name) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/environ", std::ios::binary);
  std::string entry;
  while (std::getline(file, entry, '\0')) {
    if (entry.starts_with(name) && entry.size() > name.size() && entry[name.size()] == '=')
      return entry.substr(name.size() + 1);
  }
  return {};
}

std::optional<double> Value(const nvml::Answer& answer, double unit = 1) {
  if (answer.result != nvml::kSuccess) return std::nullopt;
  return static_cast<double>(answer.value) * unit;
}

}  // namespace

bool GpuWatch::Open(std::string* why) {
  if (!nvml::Load(&api_, why)) return false;
  for (const nvml::Device handle : nvml::FindGpus(api_)) {
    Gpu gpu;
    gpu.handle = handle;
    gpu.uuid = nvml::UuidOf(api_, handle);
    char name[96] = {};
    if (nvml::Call(api_.nvmlDeviceGetName, handle, name, static_cast<unsigned>(sizeof name)) == nvml::kSuccess)
      gpu.name = name;
    gpu.has_gpm = nvml::MakeGpmSamples(api_, handle, &gpu.gpm);
    gpus_.push_back(std::move(gpu));
  }
  if (gpus_.empty()) *why = "the driver shows no GPU";
  return !gpus_.empty();
}

std::vector<GpuReading> GpuWatch::Read() {
  constexpr double kMilli = 1e-3;
  std::vector<GpuReading> readings;
  for (Gpu& gpu : gpus_) {
    GpuReading& r = readings.emplace_back();
    r.index = static_cast<int>(readings.size()) - 1;
    r.uuid = gpu.uuid;
    r.name = gpu.name;
    r.power_w = Value(nvml::ReadPower(api_, gpu.handle), kMilli);
    r.power_limit_w = Value(nvml::Read(api_.nvmlDeviceGetEnforcedPowerLimit, gpu.handle), kMilli);
    r.energy_j = Value(nvml::Read(api_.nvmlDeviceGetTotalEnergyConsumption, gpu.handle), kMilli);
    r.sm_clock_mhz = Value(nvml::Read(api_.nvmlDeviceGetClockInfo, gpu.handle, nvml::kClockSm));
    r.memory_clock_mhz = Value(nvml::Read(api_.nvmlDeviceGetClockInfo, gpu.handle, nvml::kClockMemory));
    r.temperature_c = Value(nvml::Read(api_.nvmlDeviceGetTemperature, gpu.handle, nvml::kSensorGpu));
    nvml::Utilization utilization = {};
    if (nvml::Call(api_.nvmlDeviceGetUtilizationRates, gpu.handle, &utilization) == nvml::kSuccess)
      r.utilization_percent = utilization.gpu;
    nvml::Memory memory = {};
    if (nvml::Call(api_.nvmlDeviceGetMemoryInfo, gpu.handle, &memory) == nvml::kSuccess) {
      r.memory_used_bytes = static_cast<double>(memory.used);
      r.memory_total_bytes = static_cast<double>(memory.total);
    }
    const uint64_t reasons = nvml::ReadClockLimits(api_, gpu.handle).value;
    for (const Limit& limit : kLimits) {
      if ((reasons & limit.mask) != 0) r.limits.emplace_back(limit.name);
    }
    if (gpu.has_gpm) ReadGpm(&gpu, &r);
    ReadProcesses(gpu, &r);
  }
  return readings;
}

void GpuWatch::ReadGpm(Gpu* gpu, GpuReading* reading) const {
  constexpr unsigned kIds[] = {2, 5, 10, 20, 21};
  std::optional<double>* const readings[] = {&reading->sm_active_percent, &reading->tensor_active_percent,
                                             &reading->dram_percent, &reading->pcie_tx_bytes_s,
                                             &reading->pcie_rx_bytes_s};
  if (nvml::TakeGpmSample(api_, gpu->handle, &gpu->gpm) != nvml::kSuccess) return;
  if (!std::exchange(gpu->has_sample, true)) return;
  double values[std::size(kIds)];
  if (nvml::ReadGpm(api_, gpu->gpm, kIds, values) != nvml::kSuccess) return;
  for (std::size_t i = 0; i < std::size(kIds); ++i) {
    if (!std::isnan(values[i])) *readings[i] = values[i];
  }
}

void GpuWatch::ReadProcesses(const Gpu& gpu, GpuReading* reading) const {
  std::vector<nvml::ProcessInfo> processes;
  nvml::ReadProcesses(api_, gpu.handle, &processes);
  for (const nvml::ProcessInfo& process : processes) {
    GpuProcess out;
    out.pid = process.pid;
    out.memory_bytes = process.used_memory == nvml::kMemoryNotTold ? 0 : static_cast<int64_t>(process.used_memory);
    out.name = FirstLine("/proc/" + std::to_string(out.pid) + "/comm");
    out.run = VariableOf(out.pid, trace::env::kOutput);
    reading->processes.push_back(std::move(out));
  }
}

}  // namespace gprof
