// The collector of matrix multiplications of cuBLAS. [writer thread, or salvage, unless it is said]
#pragma once

#include "tracer/core/collectors.h"
#include "tracer/store/log_rows.h"

namespace gprof::tracer {

void StartGemms();          // [starting thread]
void SwitchGemms(bool on);  // [any thread, one at a time]
void DrainGemms(DrainRound* round);
void StopGemms(StopReason why);
void ConvertGemmRow(const RowHeader* row, const RowSource& source);

inline constexpr Collector kGemmCollector = {
    .start = StartGemms,
    .switch_capture = SwitchGemms,
    .drain = DrainGemms,
    .stop = StopGemms,
    .row_types = SetOf(RowType::kGemm),
    .convert = ConvertGemmRow,
};

}  // namespace gprof::tracer
