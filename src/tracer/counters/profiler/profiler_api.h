// The profiler of libcupti: planning, evaluation and ranges, found in the copy that is in use. From CUDA 12.8 on.
#pragma once

#include <cstdint>

#if __has_include(<cupti_range_profiler.h>)
#define GPROF_HAS_RANGE_PROFILER 1
#include <cupti_profiler_host.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>

#include "tracer/cupti/library/cupti_api.h"

namespace gprof::tracer {

struct ProfilerApi {
  LibrarySymbols in;
  GPROF_SYMBOL(cuptiProfilerInitialize);
  GPROF_SYMBOL(cuptiDeviceGetChipName);
  GPROF_SYMBOL(cuptiProfilerHostInitialize);
  GPROF_SYMBOL(cuptiProfilerHostDeinitialize);
  GPROF_SYMBOL(cuptiProfilerHostGetMetricProperties);
  GPROF_SYMBOL(cuptiProfilerHostConfigAddMetrics);
  GPROF_SYMBOL(cuptiProfilerHostGetConfigImageSize);
  GPROF_SYMBOL(cuptiProfilerHostGetConfigImage);
  GPROF_SYMBOL(cuptiProfilerHostGetNumOfPasses);
  GPROF_SYMBOL(cuptiProfilerHostEvaluateToGpuValues);
  GPROF_SYMBOL(cuptiRangeProfilerEnable);
  GPROF_SYMBOL(cuptiRangeProfilerSetConfig);
  GPROF_SYMBOL(cuptiRangeProfilerStart);
  GPROF_SYMBOL(cuptiRangeProfilerStop);
  GPROF_SYMBOL(cuptiRangeProfilerPushRange);
  GPROF_SYMBOL(cuptiRangeProfilerPopRange);
  GPROF_SYMBOL(cuptiRangeProfilerDecodeData);
  GPROF_SYMBOL(cuptiRangeProfilerGetCounterDataSize);
  GPROF_SYMBOL(cuptiRangeProfilerCounterDataImageInitialize);
  GPROF_SYMBOL(cuptiRangeProfilerGetCounterDataInfo);
  GPROF_SYMBOL(cuptiGetDeviceId);
};

// Parameters with their size in them.
#define GPROF_PARAMETERS(function, name) \
  function##_Params name = {};           \
  name.structSize = function##_Params_STRUCT_SIZE

const ProfilerApi& Profiler();
// Opens what libcupti needs beside it, and initialises its profiler. Once; false: a notice says why. [any thread]
bool StartProfiler();
// Says what went wrong and what to do about it: "no kernel counters: …".
void SayProfilerFailed(const char* function, CUptiResult result);

}  // namespace gprof::tracer
#endif
