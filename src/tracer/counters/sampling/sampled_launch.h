// A launch by the program in a run that is recorded, where few launches are measured.
#pragma once

#include "tracer/counters/launches/launch_calls.h"

#ifdef GPROF_HAS_RANGE_PROFILER
namespace gprof::tracer {

void OnSampledEnter(const LaunchCall& call, const CUpti_CallbackData* info);
// After everybody else has heard of the end of the call, so that what it is recorded to take is without what ending a
// sample takes.
void OnSampledExit(const CUpti_CallbackData* info);
// Notes a kernel that ran. False: it is one of the profiler's own.
bool TakeKernel(uint32_t name, uint64_t duration_ns);

}  // namespace gprof::tracer
#endif
