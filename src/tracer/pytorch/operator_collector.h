// Operators of PyTorch: libtorch calls us at the begin and the end of each, in the thread that runs it (its record
// functions). A hook in Python asks for it once torch is there (src/launch/hooks/sitecustomize.py).
#pragma once

#include "tracer/core/collectors.h"
#include "tracer/store/log_rows.h"

namespace gprof::tracer {

void RetellOperators();                  // [writer thread]
void DrainOperators(DrainRound* round);  // [writer thread, or salvage]
void ResetOperatorsAfterFork();          // [child of a fork]
void ConvertOperatorRow(const RowHeader* row, const RowSource& source);

inline constexpr Collector kOperatorCollector = {
    .retell = RetellOperators,
    .drain = DrainOperators,
    .salvage = DrainOperators,
    .reset = ResetOperatorsAfterFork,
    .row_types = SetOf(RowType::kOperator, RowType::kOperatorEnd),
    .convert = ConvertOperatorRow,
};

}  // namespace gprof::tracer
