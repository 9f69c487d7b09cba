// Who this process is.
#pragma once

#include "gprof/trace/file.h"
#include "gprof/trace/record.h"

namespace gprof::tracer {

// When the process began, in clock ticks since the machine did; 0 when it is dead, a zombie too.
uint64_t StartTicksOf(const char* stat_file);
trace::ProcessKey OwnKey(uint64_t start_ns);
// Everything that can be known without CUDA.
void FillProcess(trace::ProcessRecord* process);
trace::StringId ThreadName(uint32_t tid);

}  // namespace gprof::tracer
