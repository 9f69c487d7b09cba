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

#define GPROF_PROFILER_FUNCTIONS(X)               \
  X(cuptiProfilerInitialize)                      \
  X(cuptiDeviceGetChipName)                       \
  X(cuptiProfilerHostInitialize)                  \
  X(cuptiProfilerHostDeinitialize)                \
  X(cuptiProfilerHostGetMetricProperties)         \
  X(cuptiProfilerHostConfigAddMetrics)            \
  X(cuptiProfilerHostGetConfigImageSize)          \
  X(cuptiProfilerHostGetConfigImage)              \
  X(cuptiProfilerHostGetNumOfPasses)              \
  X(cuptiProfilerHostEvaluateToGpuValues)         \
  X(cuptiRangeProfilerEnable)                     \
  X(cuptiRangeProfilerSetConfig)                  \
  X(cuptiRangeProfilerStart)                      \
  X(cuptiRangeProfilerStop)                       \
  X(cuptiRangeProfilerPushRange)                  \
  X(cuptiRangeProfilerPopRange)                   \
  X(cuptiRangeProfilerDecodeData)                 \
  X(cuptiRangeProfilerGetCounterDataSize)         \
  X(cuptiRangeProfilerCounterDataImageInitialize) \
  X(cuptiRangeProfilerGetCounterDataInfo)         \
  X(cuptiGetDeviceId)

struct ProfilerApi {
#define X(name) decltype(&::name) name = nullptr;
  GPROF_PROFILER_FUNCTIONS(X)
#undef X
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
