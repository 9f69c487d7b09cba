// The parameters that src/collect/gpu/pm_api.h declares are those of the headers of CUPTI.
#include <gtest/gtest.h>

#if __has_include(<cupti_pmsampling.h>)
#include <cuda.h>
#include <cupti_pmsampling.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_target.h>

#include "collect/gpu/pm_api.h"

namespace gprof::pm {
namespace {

#pragma GCC diagnostic ignored "-Winvalid-offsetof"
#define SAME_SIZE(ours, theirs) static_assert(SizeOfParams<ours>() == theirs##_STRUCT_SIZE)
#define SAME_PLACE(ours, our_field, theirs, their_field)                      \
  static_assert(offsetof(ours, our_field) == offsetof(theirs, their_field) && \
                sizeof(ours::our_field) == sizeof(theirs::their_field))

SAME_SIZE(InitializeParams, CUpti_Profiler_Initialize_Params);
SAME_SIZE(ChipNameParams, CUpti_Device_GetChipName_Params);
SAME_PLACE(ChipNameParams, name, CUpti_Device_GetChipName_Params, pChipName);
SAME_SIZE(AvailabilityParams, CUpti_PmSampling_GetCounterAvailability_Params);
SAME_PLACE(AvailabilityParams, image_size, CUpti_PmSampling_GetCounterAvailability_Params,
           counterAvailabilityImageSize);
SAME_SIZE(HostInitializeParams, CUpti_Profiler_Host_Initialize_Params);
SAME_PLACE(HostInitializeParams, type, CUpti_Profiler_Host_Initialize_Params, profilerType);
SAME_PLACE(HostInitializeParams, chip, CUpti_Profiler_Host_Initialize_Params, pChipName);
SAME_PLACE(HostInitializeParams, availability, CUpti_Profiler_Host_Initialize_Params, pCounterAvailabilityImage);
SAME_SIZE(HostDeinitializeParams, CUpti_Profiler_Host_Deinitialize_Params);
SAME_SIZE(AddMetricsParams, CUpti_Profiler_Host_ConfigAddMetrics_Params);
SAME_PLACE(AddMetricsParams, names, CUpti_Profiler_Host_ConfigAddMetrics_Params, ppMetricNames);
SAME_SIZE(ConfigImageSizeParams, CUpti_Profiler_Host_GetConfigImageSize_Params);
SAME_SIZE(ConfigImageParams, CUpti_Profiler_Host_GetConfigImage_Params);
SAME_PLACE(ConfigImageParams, image_size, CUpti_Profiler_Host_GetConfigImage_Params, configImageSize);
SAME_SIZE(PassesParams, CUpti_Profiler_Host_GetNumOfPasses_Params);
SAME_PLACE(PassesParams, image, CUpti_Profiler_Host_GetNumOfPasses_Params, pConfigImage);
SAME_SIZE(EvaluateParams, CUpti_Profiler_Host_EvaluateToGpuValues_Params);
SAME_PLACE(EvaluateParams, range, CUpti_Profiler_Host_EvaluateToGpuValues_Params, rangeIndex);
SAME_PLACE(EvaluateParams, names, CUpti_Profiler_Host_EvaluateToGpuValues_Params, ppMetricNames);
SAME_SIZE(EnableParams, CUpti_PmSampling_Enable_Params);
SAME_PLACE(EnableParams, sampler, CUpti_PmSampling_Enable_Params, pPmSamplingObject);
SAME_SIZE(SamplerParams, CUpti_PmSampling_Start_Params);
SAME_SIZE(SamplerParams, CUpti_PmSampling_Stop_Params);
SAME_SIZE(SamplerParams, CUpti_PmSampling_Disable_Params);
SAME_SIZE(SetConfigParams, CUpti_PmSampling_SetConfig_Params);
SAME_PLACE(SetConfigParams, config_size, CUpti_PmSampling_SetConfig_Params, configSize);
SAME_PLACE(SetConfigParams, hardware_buffer_size, CUpti_PmSampling_SetConfig_Params, hardwareBufferSize);
SAME_PLACE(SetConfigParams, interval, CUpti_PmSampling_SetConfig_Params, samplingInterval);
SAME_PLACE(SetConfigParams, trigger, CUpti_PmSampling_SetConfig_Params, triggerMode);
SAME_PLACE(SetConfigParams, append, CUpti_PmSampling_SetConfig_Params, hwBufferAppendMode);
SAME_SIZE(DataSizeParams, CUpti_PmSampling_GetCounterDataSize_Params);
SAME_PLACE(DataSizeParams, most_samples, CUpti_PmSampling_GetCounterDataSize_Params, maxSamples);
SAME_SIZE(DataInitializeParams, CUpti_PmSampling_CounterDataImage_Initialize_Params);
SAME_PLACE(DataInitializeParams, data, CUpti_PmSampling_CounterDataImage_Initialize_Params, pCounterData);
SAME_SIZE(DecodeParams, CUpti_PmSampling_DecodeData_Params);
SAME_PLACE(DecodeParams, stop, CUpti_PmSampling_DecodeData_Params, decodeStopReason);
SAME_PLACE(DecodeParams, overflow, CUpti_PmSampling_DecodeData_Params, overflow);
SAME_SIZE(DataInfoParams, CUpti_PmSampling_GetCounterDataInfo_Params);
SAME_PLACE(DataInfoParams, populated, CUpti_PmSampling_GetCounterDataInfo_Params, numPopulatedSamples);
SAME_SIZE(SampleInfoParams, CUpti_PmSampling_CounterData_GetSampleInfo_Params);
SAME_PLACE(SampleInfoParams, index, CUpti_PmSampling_CounterData_GetSampleInfo_Params, sampleIndex);
static_assert(kProfilerTypePmSampling == CUPTI_PROFILER_TYPE_PM_SAMPLING);
static_assert(kNotPermitted == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES && kHardwareBusy == CUPTI_ERROR_HARDWARE_BUSY &&
              kOutOfMemory == CUPTI_ERROR_OUT_OF_MEMORY);
static_assert(static_cast<int>(Trigger::kTime) == CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL);
static_assert(static_cast<int>(DecodeStop::kImageFull) == CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL);

// The compiler has checked it.
TEST(PmLayout, IsThatOfTheHeaders) { SUCCEED(); }

}  // namespace
}  // namespace gprof::pm
#endif
