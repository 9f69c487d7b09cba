// The clocks and caches of a GPU while its kernels are measured, as the request wants them: by libcupti of CUDA 13.4
// and later.
#pragma once

#include "gprof/trace/record.h"
#include "tracer/counters/profiler/profiler_api.h"

#ifdef GPROF_HAS_RANGE_PROFILER
namespace gprof::tracer {

// Before the profiler is enabled for the context. False: what is wanted cannot be, so nothing is to be measured; a
// notice says why. [with the lock of the caller]
bool ControlClocks(CUcontext context);
// As the call above left them.
trace::ClockControl ClocksNow();
// They would stay locked when the process has ended.
void ReleaseClocks();
void ForgetClocksAfterFork();

// The parameters of cuptiRangeProfilerEnable as of CUDA 13.4. A library before that takes those up to the profiler.
struct EnableParams {
  std::size_t size = offsetof(EnableParams, cache_control);
  void* reserved = nullptr;
  CUcontext context = nullptr;
  CUpti_RangeProfiler_Object* profiler = nullptr;
  int cache_control = 0;
};
EnableParams EnableParamsFor(CUcontext context);

}  // namespace gprof::tracer
#endif
