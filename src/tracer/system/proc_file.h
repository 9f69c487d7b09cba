// Small files of /proc and /sys, read without stdio and without memory of the target's.
#pragma once

#include <sys/types.h>

#include <cstddef>

namespace gprof::tracer {

// Reads at most size - 1 bytes, ends them with 0, drops a final newline. Negative: not readable.
ssize_t ReadProcFile(const char* path, char* out, std::size_t size);

// Field `number` of a line of /proc/…/stat, from 3, the state; null when there is none. The name in field 2 may hold
// spaces and brackets, so the last bracket is what is counted from.
const char* StatField(const char* line, int number);

}  // namespace gprof::tracer
