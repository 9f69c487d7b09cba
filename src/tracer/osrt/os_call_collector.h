// The collector of calls of libc that took long. [writer thread, or salvage, unless it is said]
#pragma once

#include "tracer/core/collectors.h"
#include "tracer/store/log_rows.h"

namespace gprof::tracer {

void StartOsCalls();          // [starting thread]
void PrepareOsCalls();        // [writer thread, or the starting thread]
void SwitchOsCalls(bool on);  // [any thread, one at a time]
void DrainOsCalls(DrainRound* round);
void TakeOpenOsCalls(DrainRound* round);
void StopOsCalls(StopReason why);
void ResetOsCallsAfterFork();
void ConvertOsCallRow(const RowHeader* row, const RowSource& source);

inline constexpr Collector kOsCallCollector = {
    .start = StartOsCalls,
    .prepare = PrepareOsCalls,
    .switch_capture = SwitchOsCalls,
    .is_of_base = true,
    .drain = DrainOsCalls,
    .salvage = TakeOpenOsCalls,
    .stop = StopOsCalls,
    .reset = ResetOsCallsAfterFork,
    .row_types = SetOf(RowType::kOsCall),
    .convert = ConvertOsCallRow,
};

}  // namespace gprof::tracer
