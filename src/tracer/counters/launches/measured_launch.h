// A launch by the program, from the begin of its call to the end: it is measured, alone or in a batch, or is let
// through.
#pragma once

#include "tracer/counters/launches/launch_calls.h"
#include "tracer/counters/launches/measuring_state.h"
#include "tracer/counters/results/launch_records.h"

#ifdef GPROF_HAS_RANGE_PROFILER
namespace gprof::tracer {

enum class LaunchPart : uint8_t { kNone, kLetThrough, kAlone, kInBatch };
// The launch that a thread is in the midst of.
struct OpenLaunch {
  uint32_t depth = 0;  // of launches within launches
  LaunchPart part = LaunchPart::kNone;
  Choice choice = Choice::kLeftOut;
  RangeSession* session = nullptr;
  MeasuredLaunch launch;
};

void OnEnter(const LaunchCall& call, const CUpti_CallbackData* info);
void OnExit(const CUpti_CallbackData* info);
void ForgetLaunchesAfterFork();

}  // namespace gprof::tracer
#endif
