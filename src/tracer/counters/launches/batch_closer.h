// A thread of ours that ends batches in time where no launch does.
#pragma once

#include "tracer/counters/launches/measuring_state.h"

#ifdef GPROF_HAS_RANGE_PROFILER
namespace gprof::tracer {

// Ends measuring if it has begun. [with the gate closed]
void CloseBatch();
// The same, once nobody is in the midst of a launch.
void EndBatch();
// The same, and nothing that is being measured goes on when it comes back; while `graph_calls` is not 0, nothing
// begins.
void EndMeasuring();

// There is something to do for the thread, which is started for it.
void WakeCloser();

void StopCloser();
void ForgetCloserAfterFork();

}  // namespace gprof::tracer
#endif
