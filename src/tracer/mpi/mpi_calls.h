// The collector of calls of MPI. [writer thread, or salvage, unless it is said]
#pragma once

#include "tracer/core/collectors.h"
#include "tracer/store/log_rows.h"

namespace gprof::tracer {

void StartMpiCalls();          // [starting thread]
void SwitchMpiCalls(bool on);  // [any thread, one at a time]
void DrainMpiCalls(DrainRound* round);
void TakeOpenMpiCalls(DrainRound* round);
void StopMpiCalls(StopReason why);
void ResetMpiCallsAfterFork();
void ConvertMpiCallRow(const RowHeader* row, const RowSource& source);

inline constexpr Collector kMpiCallCollector = {
    .start = StartMpiCalls,
    .switch_capture = SwitchMpiCalls,
    .is_of_base = true,
    .drain = DrainMpiCalls,
    .salvage = TakeOpenMpiCalls,
    .stop = StopMpiCalls,
    .reset = ResetMpiCallsAfterFork,
    .row_types = SetOf(RowType::kMpiCall),
    .convert = ConvertMpiCallRow,
};

}  // namespace gprof::tracer
