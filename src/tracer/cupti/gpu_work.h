// GPU work as a collector: CUPTI's activity records, and what CUPTI says of clocks, losses and itself.
#pragma once

#include "tracer/core/collectors.h"
#include "tracer/cupti/cupti_session.h"
#include "tracer/cupti/guest_profiler.h"

namespace gprof::tracer {

void StartGpuWork();  // [starting thread]
void RetellGpuWork();
void DrainGpuWork(DrainRound* round);
void SalvageGpuWork(DrainRound* round);
void ResetGpuWorkAfterFork();

// The session starts by itself, when the driver does (cupti_entry.cpp), and in the child of a fork never again.
inline constexpr Collector kGpuWorkCollector = {
    .start = StartGpuWork,
    .retell = RetellGpuWork,
    .switch_capture = SwitchCupti,
    .has_warm_up = true,
    .drain = DrainGpuWork,
    .salvage = SalvageGpuWork,
    .stop = StopCupti,
    .reset = ResetGpuWorkAfterFork,
    .row_types = SetOf(RowType::kGpuPause),
    .convert = ConvertGpuPauseRow,
};

}  // namespace gprof::tracer
