// What tells this process from all others, on any machine and after any restart.
#pragma once

#include "gprof/trace/file.h"

namespace gprof::tracer {

// When the process began, in clock ticks since the machine did; 0 when it is dead, a zombie too.
uint64_t StartTicksOf(const char* stat_file);
trace::ProcessKey OwnKey(uint64_t start_ns);

}  // namespace gprof::tracer
