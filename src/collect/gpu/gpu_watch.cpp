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

template <class T>
std::optional<double> Value(double unit, int (*function)(nvml::Device, T*), nvml::Device gpu) {
  T value = {};
  if (nvml::Call(function, gpu, &value) != nvml::kSuccess) return std::nullopt;
  return static_cast<double>(value) * unit;
}

std::optional<double> ValueOfKind(int (*function)(nvml::Device, unsigned, unsigned*), nvml::Device gpu, unsigned kind) {
  unsigned value = 0;
  if (nvml::Call(function, gpu, kind, &value) != nvml::kSuccess) return std::nullopt;
  return value;
}

}  // namespace

bool GpuWatch::Open(std::string* why) {
  if (!nvml::Load(&api_, why)) return false;
  unsigned count = 0;
  nvml::Call(api_.nvmlDeviceGetCount_v2, &count);
  for (unsigned i = 0; i < count; ++i) {
    Gpu gpu;
    if (nvml::Call(api_.nvmlDeviceGetHandleByIndex_v2, i, &gpu.handle) != nvml::kSuccess) continue;
    gpu.uuid = nvml::UuidOf(api_, gpu.handle);
    char name[96] = {};
    if (nvml::Call(api_.nvmlDeviceGetName, gpu.handle, name, static_cast<unsigned>(sizeof name)) == nvml::kSuccess)
      gpu.name = name;
    nvml::GpmSupport support{1, 0};
    gpu.has_gpm =
        nvml::Call(api_.nvmlGpmQueryDeviceSupport, gpu.handle, &support) == nvml::kSuccess && support.is_supported != 0;
    for (nvml::GpmSample& sample : gpu.samples)
      gpu.has_gpm = gpu.has_gpm && nvml::Call(api_.nvmlGpmSampleAlloc, &sample) == nvml::kSuccess;
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
    uint64_t wide = 0;
    int result = 0;
    if (nvml::ReadField(api_, gpu.handle, nvml::kFieldPowerInstant, &wide, &result)) {
      r.power_w = static_cast<double>(wide) * kMilli;
    } else {
      r.power_w = Value(kMilli, api_.nvmlDeviceGetPowerUsage, gpu.handle);
    }
    r.power_limit_w = Value(kMilli, api_.nvmlDeviceGetEnforcedPowerLimit, gpu.handle);
    r.energy_j = Value(kMilli, api_.nvmlDeviceGetTotalEnergyConsumption, gpu.handle);
    r.sm_clock_mhz = ValueOfKind(api_.nvmlDeviceGetClockInfo, gpu.handle, nvml::kClockSm);
    r.memory_clock_mhz = ValueOfKind(api_.nvmlDeviceGetClockInfo, gpu.handle, nvml::kClockMemory);
    r.temperature_c = ValueOfKind(api_.nvmlDeviceGetTemperature, gpu.handle, nvml::kSensorGpu);
    nvml::Utilization utilization = {};
    if (nvml::Call(api_.nvmlDeviceGetUtilizationRates, gpu.handle, &utilization) == nvml::kSuccess)
      r.utilization_percent = utilization.gpu;
    nvml::Memory memory = {};
    if (nvml::Call(api_.nvmlDeviceGetMemoryInfo, gpu.handle, &memory) == nvml::kSuccess) {
      r.memory_used_bytes = static_cast<double>(memory.used);
      r.memory_total_bytes = static_cast<double>(memory.total);
    }
    unsigned long long reasons = 0;
    nvml::Call(api_.nvmlDeviceGetCurrentClocksEventReasons != nullptr ? api_.nvmlDeviceGetCurrentClocksEventReasons
                                                                      : api_.nvmlDeviceGetCurrentClocksThrottleReasons,
               gpu.handle, &reasons);
    for (const Limit& limit : kLimits) {
      if ((reasons & limit.mask) != 0) r.limits.emplace_back(limit.name);
    }
    if (gpu.has_gpm) ReadGpm(&gpu, &r);
    ReadProcesses(gpu, &r);
  }
  return readings;
}

void GpuWatch::ReadGpm(Gpu* gpu, GpuReading* reading) const {
  constexpr double kMebibyte = 1 << 20;
  if (nvml::Call(api_.nvmlGpmSampleGet, gpu->handle, gpu->samples[1]) != nvml::kSuccess) return;
  std::swap(gpu->samples[0], gpu->samples[1]);  // the newest is the first now
  if (!std::exchange(gpu->has_sample, true)) return;
  const std::pair<unsigned, std::optional<double>*> wanted[] = {{2, &reading->sm_active_percent},
                                                                {5, &reading->tensor_active_percent},
                                                                {10, &reading->dram_percent},
                                                                {20, &reading->pcie_tx_bytes_s},
                                                                {21, &reading->pcie_rx_bytes_s}};
  nvml::GpmMetrics metrics = {};
  metrics.version = 1;
  metrics.first = gpu->samples[1];
  metrics.second = gpu->samples[0];
  for (const auto& [id, value] : wanted) metrics.metrics[metrics.count++].id = id;
  if (nvml::Call(api_.nvmlGpmMetricsGet, &metrics) != nvml::kSuccess) return;
  for (unsigned i = 0; i < std::size(wanted); ++i) {
    if (metrics.metrics[i].result != nvml::kSuccess || !std::isfinite(metrics.metrics[i].value)) continue;
    *wanted[i].second = metrics.metrics[i].value * (wanted[i].first >= 20 ? kMebibyte : 1);
  }
}

void GpuWatch::ReadProcesses(const Gpu& gpu, GpuReading* reading) const {
  constexpr unsigned long long kNotTold = ~0ull;
  unsigned count = 64;
  std::vector<nvml::ProcessInfo> processes(count);
  if (nvml::Call(api_.nvmlDeviceGetComputeRunningProcesses_v3, gpu.handle, &count, processes.data()) != nvml::kSuccess)
    return;
  processes.resize(count);
  for (const nvml::ProcessInfo& process : processes) {
    GpuProcess out;
    out.pid = process.pid;
    out.memory_bytes = process.used_memory == kNotTold ? 0 : static_cast<int64_t>(process.used_memory);
    out.name = FirstLine("/proc/" + std::to_string(out.pid) + "/comm");
    out.run = VariableOf(out.pid, trace::env::kOutput);
    reading->processes.push_back(std::move(out));
  }
}

}  // namespace gprof
