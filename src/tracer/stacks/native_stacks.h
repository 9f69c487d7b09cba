// The stack of functions at a call that took long: walked by the calling thread when the call has returned, by the
// unwind tables of the modules in memory, and within Python joined to the stack of Python's frames.
#pragma once

#include "tracer/core/collectors.h"
#include "tracer/stacks/shared_frames.h"
#include "tracer/store/log_rows.h"

namespace gprof::tracer {

void StartNativeStacks();
void DrainNativeStacks(DrainRound* round);
void ConvertNativeRow(const RowHeader* row, const RowSource& source);

inline constexpr Collector kNativeStackCollector = {
    .start = StartNativeStacks,
    .drain = DrainNativeStacks,
    .reset = ForgetSharedFrames,
    .row_types = SetOf(RowType::kNativeModule, RowType::kNativeFrame),
    .convert = ConvertNativeRow,
};

}  // namespace gprof::tracer
