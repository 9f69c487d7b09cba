// A thread that enters seccomp's strict mode may read, write and exit, and nothing else: not even the time may be asked
// for, as the kernel takes the processor's counter away, too. The recording of the process ends in order before that.
#pragma once

#include "tracer/core/collectors.h"

namespace gprof::tracer {

void WatchForStrictMode();  // [starting thread]

inline constexpr Collector kStrictModeCollector = {.start = WatchForStrictMode};

}  // namespace gprof::tracer
