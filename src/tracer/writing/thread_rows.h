// The rows that threads have written, for whichever collector, and the clocks that their stamps are converted with.
// [writer thread, or salvage]
#pragma once

#include "gprof/trace/record.h"
#include "tracer/core/collectors.h"
#include "tracer/store/thread_log.h"

namespace gprof::tracer {

// Takes what one thread has written. Answers the number of rows.
uint64_t TakeRowsOf(ThreadLog* log);
// Makes records of one row, after that of its thread.
void AddRow(const RowHeader* row, ThreadLog* log, Cursor cursor);
// What a thread is in since this stamp, as of now: what a look tells of. The name is left to whoever knows the call.
trace::InProgressRecord InProgressOf(const ThreadLog* log, uint32_t look, trace::ProgressKind kind, uint64_t start);

void StartThreadRows();
void RetellThreads();
void DrainThreadRows(DrainRound* round);
void SalvageThreadRows(DrainRound* round);

inline constexpr Collector kThreadRowCollector = {
    .start = StartThreadRows,
    .retell = RetellThreads,
    .drain = DrainThreadRows,
    .salvage = SalvageThreadRows,
    .reset = ResetLogsAfterFork,
};

}  // namespace gprof::tracer
