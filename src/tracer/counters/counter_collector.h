// Kernel counters: launches that are asked for are measured by the range profiler, within the callbacks of the call
// that launches them. A launch that nobody asked for costs a look at its name. Nothing of this runs in a process for
// which no counters are wanted.
#pragma once

#include "tracer/core/collectors.h"

namespace gprof::tracer {

// Where the launcher wants counters, listens to the callbacks of launches.
void StartCounters();
// Ranges are measured as captures begin and end; launches of a capture are all measured when it has ended.
void SwitchCounters(bool on);
void RetellCounters();
void DrainCounters(DrainRound* round);
void SalvageCounters(DrainRound* round);
void StopCounters(StopReason why);
void ResetCountersAfterFork();

inline constexpr Collector kCounterCollector = {
    .start = StartCounters,
    .retell = RetellCounters,
    .switch_capture = SwitchCounters,
    .drain = DrainCounters,
    .salvage = SalvageCounters,
    .stop = StopCounters,
    .reset = ResetCountersAfterFork,
};

}  // namespace gprof::tracer
