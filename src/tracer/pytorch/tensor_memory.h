// What PyTorch's allocator of GPU memory hands out and gets back. It reports each time what it holds then to whoever
// profiles (c10::reportMemoryUsageToProfiler), with or without a profiler; the import slot of that call leads to us.
#pragma once

#include "tracer/core/collectors.h"
#include "tracer/store/log_rows.h"

namespace gprof::tracer {

void StartTensorMemory();           // [starting thread]
void RetellTensorMemory();          // [writer thread]
void ResetTensorMemoryAfterFork();  // [child of a fork]
void ConvertTensorMemoryRow(const RowHeader* row, const RowSource& source);

inline constexpr Collector kTensorMemoryCollector = {
    .start = StartTensorMemory,
    .retell = RetellTensorMemory,
    .reset = ResetTensorMemoryAfterFork,
    .row_types = SetOf(RowType::kTensorMemory),
    .convert = ConvertTensorMemoryRow,
};

}  // namespace gprof::tracer
