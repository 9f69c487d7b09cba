// Whether the process records now: from its begin, or when a trigger says so (a range, the profiler API, steps, the
// launcher's control page).
#pragma once

#include <atomic>
#include <cstdint>

#include "gprof/trace/record.h"

namespace gprof::tracer {

extern std::atomic<bool> capture_is_on;

// Rows are wanted. The one question that hot paths ask.
inline bool IsCapturing() { return capture_is_on.load(std::memory_order_relaxed); }

// The program called cudaProfilerStart (its callback at exit) or cudaProfilerStop (at entry).
void OnProfilerStart();
void OnProfilerStop();

}  // namespace gprof::tracer
