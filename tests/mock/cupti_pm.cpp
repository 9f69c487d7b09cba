// PM sampling of the libcupti double, with the real parameters. What it refuses and loses is what the real library was
// seen to refuse and lose (libcupti 13.0 on GH100); mock_pm() lets a test say what the GPU does.
#include "cupti_pm.h"

#include <cuda.h>
#include <cupti_pmsampling.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_target.h>
#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "cupti_range.h"

struct CUpti_PmSampling_Object {
  int device;
};
struct CUpti_Profiler_Host_Object {
  bool has_availability = false, is_spoilt = false;
  int adds = 0;
  std::vector<std::string> names;
};

namespace mock {
namespace {

constexpr uint64_t kMagic = 0x4d505f6b636f6d00;
constexpr uint32_t kMostSamples = 1u << 20;

struct Sample {
  uint64_t start, end;
};
struct Image {
  uint64_t magic;
  uint32_t capacity, completed;
  Sample samples[1];
};

uint64_t Realtime() {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}

struct Monitors {
  CUpti_PmSampling_Object object{0};
  bool is_enabled = false, is_configured = false, is_running = false, is_first = true, has_overflowed = false;
  uint64_t interval = 0, next = 0, configured = 0, stopped = 0;
};
constexpr size_t kMostGpus = 8;
Monitors of_gpus[kMostGpus];
Monitors& Of(const CUpti_PmSampling_Object* object) { return of_gpus[object->device]; }

MockPm Default() {
  MockPm pm = {};
  const auto number = [](const char* name, int otherwise) {
    const char* const text = std::getenv(name);
    return text != nullptr ? std::atoi(text) : otherwise;
  };
  pm.availability_result = number("MOCK_PM_AVAILABILITY", 0);
  pm.enable_result = number("MOCK_PM_ENABLE", 0);
  pm.decode_result = number("MOCK_PM_DECODE", 0);
  pm.value = [](const char*, uint64_t) { return 50.0; };
  pm.now = Realtime;
  pm.missing = "nvlrx__bytes.sum.per_second,nvltx__bytes.sum.per_second";
  return pm;
}

MockPm& Pm() {
  static MockPm pm = Default();
  return pm;
}

bool IsIn(const char* variable, const std::string& name) {
  const char* const list = std::getenv(variable);
  return list != nullptr && ("," + std::string(list) + ",").find("," + name + ",") != std::string::npos;
}

// MOCK_REFUSED_METRICS: names that are described, and refused where they are to be collected.
bool IsRefused(const std::string& name) { return IsUnknown(name) || IsIn("MOCK_REFUSED_METRICS", name); }

bool IsMissing(const std::string& name) {
  return ("," + std::string(Pm().missing) + ",").find("," + name + ",") != std::string::npos;
}

// 0 where nothing else is said.
CUptiResult Said(int result, size_t gpu) {
  const bool is_meant = Pm().only_gpu == 0 || static_cast<size_t>(Pm().only_gpu) == gpu + 1;
  return is_meant ? static_cast<CUptiResult>(result) : CUPTI_SUCCESS;
}

constexpr size_t BytesOf(uint32_t samples) { return sizeof(Image) + samples * sizeof(Sample); }
Image* ImageOf(const uint8_t* bytes) { return reinterpret_cast<Image*>(const_cast<uint8_t*>(bytes)); }

}  // namespace

bool IsUnknown(const std::string& metric) {
  return metric.find("__") == std::string::npos || IsIn("MOCK_UNKNOWN_METRICS", metric);
}

}  // namespace mock

using namespace mock;

extern "C" {

__attribute__((visibility("default"))) MockPm* mock_pm() { return &Pm(); }

CUptiResult cuptiProfilerInitialize(CUpti_Profiler_Initialize_Params* p) {
  return p->structSize < CUpti_Profiler_Initialize_Params_STRUCT_SIZE ? CUPTI_ERROR_INVALID_PARAMETER : CUPTI_SUCCESS;
}

CUptiResult cuptiDeviceGetChipName(CUpti_Device_GetChipName_Params* p) {
  p->pChipName = "GH100";
  return CUPTI_SUCCESS;
}

CUptiResult cuptiPmSamplingGetCounterAvailability(CUpti_PmSampling_GetCounterAvailability_Params* p) {
  if (p->deviceIndex >= kMostGpus) return CUPTI_ERROR_INVALID_DEVICE;
  if (const CUptiResult result = Said(Pm().availability_result, p->deviceIndex); result != 0) return result;
  if (of_gpus[p->deviceIndex].is_enabled) return static_cast<CUptiResult>(26);
  p->counterAvailabilityImageSize = 64;
  if (p->pCounterAvailabilityImage != nullptr) std::memset(p->pCounterAvailabilityImage, 1, 64);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerHostInitialize(CUpti_Profiler_Host_Initialize_Params* p) {
  if (std::strcmp(p->pChipName, "GH100") != 0) return CUPTI_ERROR_INVALID_PARAMETER;
  p->pHostObject = new CUpti_Profiler_Host_Object;
  p->pHostObject->has_availability = p->pCounterAvailabilityImage != nullptr;
  ++Pm().hosts;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerHostDeinitialize(CUpti_Profiler_Host_Deinitialize_Params* p) {
  delete p->pHostObject;
  --Pm().hosts;
  return CUPTI_SUCCESS;
}

// A refused call leaves the object unusable.
CUptiResult cuptiProfilerHostConfigAddMetrics(CUpti_Profiler_Host_ConfigAddMetrics_Params* p) {
  CUpti_Profiler_Host_Object* const host = p->pHostObject;
  if (host->is_spoilt) return CUPTI_ERROR_INVALID_OPERATION;
  for (size_t i = 0; i < p->numMetrics; ++i) {
    const std::string name = p->ppMetricNames[i];
    host->is_spoilt |= IsRefused(name) || (IsMissing(name) && host->has_availability);
    host->names.push_back(name);
  }
  ++host->adds;
  return host->is_spoilt ? CUPTI_ERROR_INVALID_PARAMETER : CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerHostGetConfigImageSize(CUpti_Profiler_Host_GetConfigImageSize_Params* p) {
  p->configImageSize = 16;
  return CUPTI_SUCCESS;
}

// Each call schedules passes of its own; not more than so many counters fit into one.
CUptiResult cuptiProfilerHostGetConfigImage(CUpti_Profiler_Host_GetConfigImage_Params* p) {
  const int most = Pm().most_counters != 0 ? Pm().most_counters : 20;
  const auto count = static_cast<int>(p->pHostObject->names.size());
  p->pConfigImage[0] = static_cast<uint8_t>(p->pHostObject->adds + (count - 1) / most);
  p->pConfigImage[1] = std::any_of(p->pHostObject->names.begin(), p->pHostObject->names.end(), IsMissing) ? 1 : 0;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerHostGetNumOfPasses(CUpti_Profiler_Host_GetNumOfPasses_Params* p) {
  p->numOfPasses = p->pConfigImage[0];
  return CUPTI_SUCCESS;
}

CUptiResult cuptiPmSamplingEnable(CUpti_PmSampling_Enable_Params* p) {
  if (p->deviceIndex >= kMostGpus) return CUPTI_ERROR_INVALID_DEVICE;
  if (const CUptiResult result = Said(Pm().enable_result, p->deviceIndex); result != 0) return result;
  Monitors& monitors = of_gpus[p->deviceIndex];
  if (monitors.is_enabled) return static_cast<CUptiResult>(26);
  monitors = Monitors();
  monitors.object.device = static_cast<int>(p->deviceIndex);
  monitors.is_enabled = true;
  p->pPmSamplingObject = &monitors.object;
  ++Pm().enabled;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiPmSamplingDisable(CUpti_PmSampling_Disable_Params* p) {
  Of(p->pPmSamplingObject).is_enabled = false;
  --Pm().enabled;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiPmSamplingSetConfig(CUpti_PmSampling_SetConfig_Params* p) {
  if (p->structSize < CUpti_PmSampling_SetConfig_Params_STRUCT_SIZE || p->samplingInterval == 0 ||
      p->triggerMode != CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL || p->pConfig[0] != 1)
    return CUPTI_ERROR_INVALID_PARAMETER;
  Monitors& monitors = Of(p->pPmSamplingObject);
  monitors.is_configured = true;
  monitors.interval = p->samplingInterval;
  monitors.configured = Pm().now();
  Pm().interval_ns = p->samplingInterval;
  Pm().buffer_bytes = p->hardwareBufferSize;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiPmSamplingStart(CUpti_PmSampling_Start_Params* p) {
  Monitors& monitors = Of(p->pPmSamplingObject);
  if (!monitors.is_configured || monitors.is_running) return CUPTI_ERROR_INVALID_OPERATION;
  monitors.is_running = true;
  monitors.stopped = 0;
  monitors.next = Pm().now();
  return CUPTI_SUCCESS;
}

CUptiResult cuptiPmSamplingStop(CUpti_PmSampling_Stop_Params* p) {
  Monitors& monitors = Of(p->pPmSamplingObject);
  if (!monitors.is_running) return CUPTI_ERROR_INVALID_OPERATION;
  monitors.is_running = false;
  monitors.stopped = Pm().now();
  return CUPTI_SUCCESS;
}

CUptiResult cuptiPmSamplingGetCounterDataSize(CUpti_PmSampling_GetCounterDataSize_Params* p) {
  p->counterDataSize = BytesOf(std::min(p->maxSamples, kMostSamples));
  Pm().counters = static_cast<int>(p->numMetrics);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiPmSamplingCounterDataImageInitialize(CUpti_PmSampling_CounterDataImage_Initialize_Params* p) {
  Image* const image = ImageOf(p->pCounterData);
  image->magic = kMagic;
  image->capacity = static_cast<uint32_t>((p->counterDataSize - sizeof(Image)) / sizeof(Sample));
  image->completed = 0;
  return CUPTI_SUCCESS;
}

// What does not fit into the image is lost; a full hardware buffer is for good.
CUptiResult cuptiPmSamplingDecodeData(CUpti_PmSampling_DecodeData_Params* p) {
  Image* const image = ImageOf(p->pCounterDataImage);
  if (image->magic != kMagic) return CUPTI_ERROR_INVALID_PARAMETER;
  Monitors& monitors = Of(p->pPmSamplingObject);
  if (const CUptiResult result = Said(Pm().decode_result, static_cast<size_t>(monitors.object.device)); result != 0)
    return result;
  ++Pm().decodes;
  p->overflow = 0;
  p->decodeStopReason = CUPTI_PM_SAMPLING_DECODE_STOP_REASON_END_OF_RECORDS;
  const uint64_t until = monitors.stopped != 0 ? monitors.stopped : Pm().now();
  if (Pm().buffer_samples != 0 &&
      (until - monitors.next) / monitors.interval > static_cast<uint64_t>(Pm().buffer_samples))
    monitors.has_overflowed = true;
  if (monitors.has_overflowed) {
    p->overflow = 1;
    return CUPTI_ERROR_OUT_OF_MEMORY;
  }
  for (; monitors.next + monitors.interval <= until; monitors.next += monitors.interval) {
    if (image->completed == image->capacity) {
      p->decodeStopReason = CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL;
      monitors.next = until;
      break;
    }
    const uint64_t start = monitors.is_first ? monitors.configured - 1'000'000 : monitors.next;
    monitors.is_first = false;
    image->samples[image->completed++] = {start, monitors.next + monitors.interval};
  }
  return CUPTI_SUCCESS;
}

CUptiResult cuptiPmSamplingGetCounterDataInfo(CUpti_PmSampling_GetCounterDataInfo_Params* p) {
  p->numTotalSamples = ImageOf(p->pCounterDataImage)->capacity;
  p->numPopulatedSamples = p->numCompletedSamples = ImageOf(p->pCounterDataImage)->completed;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiPmSamplingCounterDataGetSampleInfo(CUpti_PmSampling_CounterData_GetSampleInfo_Params* p) {
  const Image* const image = ImageOf(p->pCounterDataImage);
  if (p->sampleIndex >= image->completed) return CUPTI_ERROR_INVALID_PARAMETER;
  p->startTimestamp = image->samples[p->sampleIndex].start;
  p->endTimestamp = image->samples[p->sampleIndex].end;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerHostEvaluateToGpuValues(CUpti_Profiler_Host_EvaluateToGpuValues_Params* p) {
  if (IsRangeImage(p->pCounterDataImage))
    return RangeValues(p->pCounterDataImage, p->rangeIndex, p->ppMetricNames, p->numMetrics, p->pMetricValues)
               ? CUPTI_SUCCESS
               : CUPTI_ERROR_INVALID_PARAMETER;
  const Image* const image = ImageOf(p->pCounterDataImage);
  if (p->rangeIndex >= image->completed) return CUPTI_ERROR_INVALID_PARAMETER;
  for (size_t i = 0; i < p->numMetrics; ++i)
    p->pMetricValues[i] = Pm().value(p->ppMetricNames[i], image->samples[p->rangeIndex].start);
  return CUPTI_SUCCESS;
}
}
