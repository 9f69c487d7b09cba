// What calls are about: numbers of locks, kinds of files. [writer thread, or salvage]
#pragma once

#include <cstdint>

#include "gprof/trace/record.h"

namespace gprof::tracer {

// A small number for an address; the address itself when there are too many.
uint64_t NumberOfLock(uint64_t address);
void ForgetLocks();

// By what /proc/PID/fd leads to, or the path that a file was opened with.
trace::OsObject KindOfFile(trace::StringId path, trace::OsObject usual);

}  // namespace gprof::tracer
