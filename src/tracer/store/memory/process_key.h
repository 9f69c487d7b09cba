// What tells this process from all others, on any machine and after any restart.
#pragma once

#include "gprof/trace/file.h"

namespace gprof::tracer {

// When the process began, in clock ticks since the machine did; 0 when it is dead, a zombie too.
uint64_t StartTicksOf(const char* stat_file);
// Whether this process is a copy of its parent rather than a program of its own.
bool IsForkWithoutExec();
trace::ProcessKey OwnKey(uint64_t start_ns);

}  // namespace gprof::tracer
