// A double of NVML. What it answers is in the file that MOCK_NVML names, read again at each call: lines of a name and a
// number. Names are those of functions ("nvmlDeviceGetPowerUsage 250000"), "field 186 250000", "gpm 2 55.5", "clock 1
// 1980", "gpus 2", "mig 3", "process 4711 1000" (pid, bytes). "fail NAME CODE" makes a function fail, "delay NAME MS"
// makes it slow. Without a line a function is not supported.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "collect/gpu/nvml_api.h"

using namespace gprof::nvml;

namespace {

std::vector<std::vector<std::string>> Lines() {
  std::vector<std::vector<std::string>> lines;
  const char* const path = std::getenv("MOCK_NVML");
  std::ifstream file(path != nullptr ? path : "");
  std::string line, word;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::vector<std::string> all;
    while (words >> word) all.push_back(word);
    if (!all.empty()) lines.push_back(std::move(all));
  }
  return lines;
}

// The last of the words that follow these; false: there is no such line.
bool Find(const std::vector<std::string>& begin, double* value) {
  bool is_found = false;
  for (const auto& words : Lines()) {
    if (words.size() <= begin.size() || !std::equal(begin.begin(), begin.end(), words.begin())) continue;
    *value = std::strtod(words[begin.size()].c_str(), nullptr);
    is_found = true;
  }
  return is_found;
}

int ResultOf(const std::string& function) {
  double number = 0;
  if (Find({"delay", function}, &number))
    std::this_thread::sleep_for(std::chrono::milliseconds(static_cast<int>(number)));
  return Find({"fail", function}, &number) ? static_cast<int>(number) : kSuccess;
}

template <class T>
int Reply(const std::string& function, const std::vector<std::string>& line, T* value) {
  double number = 0;
  if (const int result = ResultOf(function); result != kSuccess) return result;
  if (!Find(line, &number)) return kNotSupported;
  *value = static_cast<T>(number);
  return kSuccess;
}

constexpr uintptr_t kInstances = 100;
int gpm_samples[64];

}  // namespace

#define MOCK_VALUE(name, T) \
  __attribute__((visibility("default"))) int name(Device, T* value) { return Reply(#name, {#name}, value); }

extern "C" {

int nvmlInit_v2() { return ResultOf("nvmlInit_v2"); }
const char* nvmlErrorString(int) { return "mock error"; }
int nvmlDeviceGetCount_v2(unsigned* count) { return Reply("nvmlDeviceGetCount_v2", {"gpus"}, count); }

int nvmlDeviceGetHandleByIndex_v2(unsigned index, Device* device) {
  *device = reinterpret_cast<Device>(uintptr_t{index} + 1);
  return kSuccess;
}

int nvmlDeviceGetUUID(Device device, char* uuid, unsigned size) {
  const auto number = reinterpret_cast<uintptr_t>(device);
  if (number > kInstances) {
    std::snprintf(uuid, size, "MIG-%d", static_cast<int>(number - kInstances));
  } else {
    std::snprintf(uuid, size, "GPU-%d", static_cast<int>(number));
  }
  return kSuccess;
}

MOCK_VALUE(nvmlDeviceGetPowerUsage, unsigned)
MOCK_VALUE(nvmlDeviceGetEnforcedPowerLimit, unsigned)
MOCK_VALUE(nvmlDeviceGetTotalEnergyConsumption, unsigned long long)
MOCK_VALUE(nvmlDeviceGetCurrentClocksEventReasons, unsigned long long)
MOCK_VALUE(nvmlDeviceGetMaxMigDeviceCount, unsigned)

int nvmlDeviceGetTemperature(Device, unsigned, unsigned* value) {
  return Reply("nvmlDeviceGetTemperature", {"nvmlDeviceGetTemperature"}, value);
}
int nvmlDeviceGetClockInfo(Device, unsigned kind, unsigned* value) {
  return Reply("nvmlDeviceGetClockInfo", {"clock", std::to_string(kind)}, value);
}
int nvmlDeviceGetUtilizationRates(Device, Utilization* value) {
  value->memory = 0;
  return Reply("nvmlDeviceGetUtilizationRates", {"nvmlDeviceGetUtilizationRates"}, &value->gpu);
}
int nvmlDeviceGetMemoryInfo(Device, Memory* value) {
  return Reply("nvmlDeviceGetMemoryInfo", {"nvmlDeviceGetMemoryInfo"}, &value->used);
}
int nvmlDeviceGetTotalEccErrors(Device, unsigned, unsigned, unsigned long long* value) {
  return Reply("nvmlDeviceGetTotalEccErrors", {"nvmlDeviceGetTotalEccErrors"}, value);
}
int nvmlDeviceGetPcieThroughput(Device, unsigned counter, unsigned* value) {
  return Reply("nvmlDeviceGetPcieThroughput", {"pcie", std::to_string(counter)}, value);
}

int nvmlDeviceGetFieldValues(Device, int count, FieldValue* values) {
  if (const int result = ResultOf("nvmlDeviceGetFieldValues"); result != kSuccess) return result;
  for (int i = 0; i < count; ++i) {
    values[i].type = 3;
    values[i].result =
        Reply("field", {"field", std::to_string(values[i].field)}, &values[i].value.as_unsigned_long_long);
  }
  return kSuccess;
}

int nvmlDeviceGetComputeRunningProcesses_v3(Device, unsigned* count, ProcessInfo* processes) {
  if (const int result = ResultOf("nvmlDeviceGetComputeRunningProcesses_v3"); result != kSuccess) return result;
  unsigned found = 0;
  for (const auto& words : Lines()) {
    if (words[0] != "process" || words.size() < 3) continue;
    if (found == *count) return kInsufficientSize;
    processes[found++] = {static_cast<unsigned>(std::atoi(words[1].c_str())),
                          static_cast<unsigned long long>(std::atoll(words[2].c_str())), 0, 0};
  }
  *count = found;
  return kSuccess;
}

int nvmlEventSetCreate(EventSet* set) {
  double wanted = 0;
  *set = &gpm_samples;
  return Find({"xids"}, &wanted) ? ResultOf("nvmlEventSetCreate") : kNotSupported;
}
int nvmlDeviceRegisterEvents(Device, unsigned long long, EventSet) { return ResultOf("nvmlDeviceRegisterEvents"); }
// With a line "xids 1". "xid GPU NUMBER": each line is an event, told once.
int nvmlEventSetWait_v2(EventSet, EventData* event, unsigned) {
  static std::size_t told = 0;
  std::size_t found = 0;
  for (const auto& words : Lines()) {
    if (words[0] != "xid" || found++ < told) continue;
    ++told;
    *event = {reinterpret_cast<Device>(std::strtoul(words[1].c_str(), nullptr, 10) + 1), kXidEvent,
              std::strtoull(words[2].c_str(), nullptr, 10), 0, 0};
    return kSuccess;
  }
  return kTimeout;
}

int nvmlDeviceGetMigMode(Device, unsigned* mode, unsigned* pending) {
  double instances = 0;
  *mode = *pending = Find({"mig"}, &instances) ? kMigEnabled : 0;
  return kSuccess;
}
int nvmlDeviceGetMigDeviceHandleByIndex(Device, unsigned index, Device* device) {
  double instances = 0;
  if (!Find({"mig"}, &instances) || index >= instances) return 6;
  *device = reinterpret_cast<Device>(kInstances + index + 1);
  return kSuccess;
}

int nvmlGpmQueryDeviceSupport(Device, GpmSupport* support) {
  double number = 0;
  support->is_supported = Find({"gpm", "2"}, &number) ? 1 : 0;
  return kSuccess;
}
int nvmlGpmSampleAlloc(GpmSample* sample) {
  static int next = 0;
  *sample = &gpm_samples[next++ % 64];
  return kSuccess;
}
int nvmlGpmSampleGet(Device, GpmSample) { return ResultOf("nvmlGpmSampleGet"); }
int nvmlGpmMetricsGet(GpmMetrics* metrics) {
  if (metrics->version != 1 || metrics->first == metrics->second) return 2;
  for (unsigned i = 0; i < metrics->count; ++i)
    metrics->metrics[i].result =
        Reply("gpm", {"gpm", std::to_string(metrics->metrics[i].id)}, &metrics->metrics[i].value);
  return kSuccess;
}
}
