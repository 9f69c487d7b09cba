// The things of a delay plan that are calls of CUDA: launches, waits, copies, functions by name, and kernels.
#pragma once

#include "tracer/core/collectors.h"

namespace gprof::tracer {

void StartDelayedCalls();
void SwitchDelayedCalls(bool on);
void ResetDelayedCallsAfterFork();

inline constexpr Collector kDelayedCallCollector = {
    .start = StartDelayedCalls, .switch_capture = SwitchDelayedCalls, .reset = ResetDelayedCallsAfterFork};

}  // namespace gprof::tracer
