// The collector of CPU samples that a signal takes, where perf events are not allowed (`--sample-method signal`). Its
// samples lie in a ring of the arena (gprof/trace/sample_ring.h), from which the collector of CPU samples outside of
// the program takes and unwinds them. [writer thread, unless it is said]
#pragma once

#include "tracer/core/collectors.h"

namespace gprof::tracer {

void PrepareSignalSamples();        // [writer thread, or the starting thread]
void SwitchSignalSamples(bool on);  // [any thread, one at a time]
void DrainSignalSamples(DrainRound* round);
void StopSignalSamples(StopReason why);
void ResetSignalSamplesAfterFork();

inline constexpr Collector kSignalSampleCollector = {
    .prepare = PrepareSignalSamples,
    .switch_capture = SwitchSignalSamples,
    .is_of_base = true,
    .drain = DrainSignalSamples,
    .stop = StopSignalSamples,
    .reset = ResetSignalSamplesAfterFork,
};

}  // namespace gprof::tracer
