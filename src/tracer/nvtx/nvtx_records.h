// NVTX as a collector: handlers write rows, names and layouts (nvtx_handlers.cpp), and these become records.
#pragma once

#include "tracer/core/collectors.h"
#include "tracer/nvtx/range_triggers.h"
#include "tracer/store/log_rows.h"

namespace gprof::tracer {

void ConvertNvtxRow(const RowHeader* row, const RowSource& source);

void StartNvtx();
void RetellNvtx();
void DrainNvtx(DrainRound* round);
void ResetNvtxAfterFork();

// It starts by itself, with the first NVTX call of a shared object (nvtx_entry.cpp).
inline constexpr Collector kNvtxCollector = {
    .start = StartNvtx,
    .retell = RetellNvtx,
    .switch_capture = ChooseNvtxPath,
    .is_of_base = true,
    .drain = DrainNvtx,
    .salvage = DrainNvtx,
    .reset = ResetNvtxAfterFork,
    .row_types =
        SetOf(RowType::kNvtx, RowType::kNvtxPayload, RowType::kNvtxPush, RowType::kNvtxPop, RowType::kNvtxMark),
    .convert = ConvertNvtxRow,
};

}  // namespace gprof::tracer
