// What the threads of the program share while launches are measured.
#pragma once

#include <atomic>
#include <cstdint>

#include "tracer/counters/launches/launch_batch.h"
#include "tracer/counters/launches/launch_gate.h"
#include "tracer/counters/request/launch_filter.h"
#include "tracer/system/system_calls.h"

#ifdef GPROF_HAS_RANGE_PROFILER
namespace gprof::tracer {

// How long a launch waits for others to get out of its way.
inline constexpr uint64_t kLaunchPatienceNs = 2'000'000'000;

struct MeasuringState {
  std::atomic<bool> is_off{false};
  Lock lock;  // of plans, sessions, contexts and the filter
  LaunchGate gate;
  LaunchFilter filter;
  LaunchBatch batch;
  std::atomic<uint32_t> graph_calls{0};  // under way: streams are captured, or graphs made of it. Nothing is measured

  void ResetAfterFork();
};
extern constinit MeasuringState measuring;

// What has to be done once before launches and ranges are looked at. False: nothing can be measured, and a notice has
// said so. [with the lock]
bool PrepareMeasuring();
// Null: nothing can be measured in the context, which a notice has said. [with the lock]
RangeSession* SessionOf(CUcontext context);

}  // namespace gprof::tracer
#endif
