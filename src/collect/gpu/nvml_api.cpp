#include "collect/gpu/nvml_api.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace gprof::nvml {
namespace {

constexpr char kLibrary[] = "libnvidia-ml.so.1";

Answer ValueOf(const FieldValue& field) {
  constexpr int kDouble = 0, kUnsigned = 1, kSigned = 5, kUnsignedShort = 6;
  if (field.result != kSuccess) return {field.result, 0};
  switch (field.type) {
    case kDouble:
      return {kSuccess, static_cast<uint64_t>(field.value.as_double)};
    case kUnsigned:
    case kSigned:
      return {kSuccess, field.value.as_unsigned};
    case kUnsignedShort:
      return {kSuccess, field.value.as_unsigned_short};
    default:
      return {kSuccess, field.value.as_unsigned_long_long};
  }
}

}  // namespace

bool MayBeHere() {
  // The driver's control device; on the Windows Subsystem for Linux, that of Windows.
  for (const char* const device : {"/dev/nvidiactl", "/dev/dxg"}) {
    if (access(device, F_OK) == 0) return true;
  }
  const char* const variable = std::getenv("LD_LIBRARY_PATH");
  std::string_view folders = variable != nullptr ? variable : "";
  while (!folders.empty()) {
    const std::string_view folder = folders.substr(0, folders.find(':'));
    folders.remove_prefix(std::min(folder.size() + 1, folders.size()));
    if (!folder.empty() && access((std::string(folder) + "/" + kLibrary).c_str(), F_OK) == 0) return true;
  }
  return false;
}

bool Load(Api* api, std::string* why) {
  void* const library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const error = dlerror();
    *why = error != nullptr ? error : "cannot be loaded";
    return false;
  }
  *api = Api{LibrarySymbols(library)};
  const int result = Call(api->nvmlInit_v2);
  if (result == kSuccess) return true;
  *why = "nvmlInit fails: " +
         (api->nvmlErrorString != nullptr ? std::string(api->nvmlErrorString(result)) : std::to_string(result));
  return false;
}

Answer ReadField(const Api& api, Device gpu, unsigned field) {
  Answer answer;
  ReadFields(api, gpu, {&field, 1}, {&answer, 1});
  return answer;
}

void ReadFields(const Api& api, Device gpu, std::span<const unsigned> fields, std::span<Answer> answers) {
  FieldValue values[kMostFields] = {};
  for (std::size_t i = 0; i < fields.size(); ++i) values[i].field = fields[i];
  const int result = Call(api.nvmlDeviceGetFieldValues, gpu, static_cast<int>(fields.size()), values);
  for (std::size_t i = 0; i < fields.size(); ++i)
    answers[i] = result == kSuccess ? ValueOf(values[i]) : Answer{result, 0};
}

Answer ReadPower(const Api& api, Device gpu) {
  const Answer instant = ReadField(api, gpu, kFieldPowerInstant);
  if (instant.result == kSuccess || instant.result == kGpuIsLost) return instant;
  return Read(api.nvmlDeviceGetPowerUsage, gpu);
}

Answer ReadClockLimits(const Api& api, Device gpu) {
  return Read(api.nvmlDeviceGetCurrentClocksEventReasons != nullptr ? api.nvmlDeviceGetCurrentClocksEventReasons
                                                                    : api.nvmlDeviceGetCurrentClocksThrottleReasons,
              gpu);
}

int ReadProcesses(const Api& api, Device gpu, std::vector<ProcessInfo>* processes) {
  unsigned count = 64;
  processes->resize(count);
  const int result = Call(api.nvmlDeviceGetComputeRunningProcesses_v3, gpu, &count, processes->data());
  processes->resize(result == kSuccess ? count : 0);
  return result;
}

bool MakeGpmSamples(const Api& api, Device gpu, GpmSamples* samples) {
  GpmSupport support{1, 0};
  return Call(api.nvmlGpmQueryDeviceSupport, gpu, &support) == kSuccess && support.is_supported != 0 &&
         Call(api.nvmlGpmSampleAlloc, &samples->older) == kSuccess &&
         Call(api.nvmlGpmSampleAlloc, &samples->newer) == kSuccess;
}

int TakeGpmSample(const Api& api, Device gpu, GpmSamples* samples) {
  const int result = Call(api.nvmlGpmSampleGet, gpu, samples->older);
  if (result == kSuccess) std::swap(samples->older, samples->newer);
  return result;
}

int ReadGpm(const Api& api, const GpmSamples& samples, std::span<const unsigned> ids, std::span<double> values) {
  constexpr double kMebibyte = 1 << 20;
  constexpr unsigned kFirstRate = 20;  // of PCIe and NVLink
  GpmMetrics metrics = {};
  metrics.version = 1;
  metrics.first = samples.older;
  metrics.second = samples.newer;
  for (const unsigned id : ids) metrics.metrics[metrics.count++].id = id;
  const int result = Call(api.nvmlGpmMetricsGet, &metrics);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const GpmMetric& metric = metrics.metrics[i];
    const bool has_value = result == kSuccess && metric.result == kSuccess && std::isfinite(metric.value);
    values[i] = has_value ? metric.value * (ids[i] >= kFirstRate ? kMebibyte : 1) : std::nan("");
  }
  return result;
}

std::vector<Device> FindGpus(const Api& api) {
  std::vector<Device> gpus;
  unsigned count = 0;
  Call(api.nvmlDeviceGetCount_v2, &count);
  for (unsigned i = 0; i < count; ++i) {
    Device gpu = nullptr;
    if (Call(api.nvmlDeviceGetHandleByIndex_v2, i, &gpu) == kSuccess) gpus.push_back(gpu);
  }
  return gpus;
}

std::vector<Device> FindInstances(const Api& api, Device gpu) {
  std::vector<Device> instances;
  unsigned mode = 0, pending = 0, count = 0;
  const bool is_divided = Call(api.nvmlDeviceGetMigMode, gpu, &mode, &pending) == kSuccess && mode == kMigEnabled;
  if (is_divided) Call(api.nvmlDeviceGetMaxMigDeviceCount, gpu, &count);
  for (unsigned i = 0; i < count; ++i) {
    Device instance = nullptr;
    if (Call(api.nvmlDeviceGetMigDeviceHandleByIndex, gpu, i, &instance) == kSuccess) instances.push_back(instance);
  }
  return instances;
}

std::string UuidOf(const Api& api, Device gpu) {
  char uuid[96] = {};
  return Call(api.nvmlDeviceGetUUID, gpu, uuid, static_cast<unsigned>(sizeof uuid)) == kSuccess ? uuid : "";
}

}  // namespace gprof::nvml
