// Waits for the lock of Python's interpreter, and which thread has it meanwhile.
#pragma once

#include <cstdint>

namespace gprof::tracer {

// Looks for Python's runtime among the modules, from now on: a condition in it is the global interpreter lock's.
// [starting thread]
void WatchForPython();
bool IsInPythonRuntime(uint64_t address);

// The thread that has the GIL, asked by one that is about to wait for it; 0 when that cannot be told. Changes errno.
uint32_t HolderOfGil(uintptr_t condition);

}  // namespace gprof::tracer
