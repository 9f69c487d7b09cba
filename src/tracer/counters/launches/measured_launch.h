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
  uint32_t depth = 0;          // of launches within launches
  uint64_t held_since_ns = 0;  // by a sample; 0: it is not
  LaunchPart part = LaunchPart::kNone;
  Choice choice = Choice::kLeftOut;
  RangeSession* session = nullptr;
  uint64_t replay_name = 0;  // with application replay
  MeasuredLaunch launch;
};
extern constinit thread_local OpenLaunch open_launch;

void OnEnter(const LaunchCall& call, const CUpti_CallbackData* info);
void OnExit(const CUpti_CallbackData* info);
void ForgetLaunchesAfterFork();

// What these are made of, for samples.
// Whether it goes into a stream that is being captured. Else fills in what the launch is.
bool IsCaptured(const LaunchCall& call, const CUpti_CallbackData* info, OpenLaunch* open);
void Measure(OpenLaunch* open);
void LetThrough(OpenLaunch* open);

}  // namespace gprof::tracer
#endif
