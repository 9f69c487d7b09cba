// Waits for the lock of Python's interpreter, and which thread has it meanwhile.
#pragma once

#include <cstdint>

namespace gprof::tracer {

// Where Python's runtime lies: a condition in it is the global interpreter lock's. `version` is PY_VERSION_HEX, 0 where
// that is not known.
void SetPythonRuntime(uintptr_t address, uint64_t bytes, uint32_t version);
bool IsInPythonRuntime(uint64_t address);

// The thread that has the GIL, asked by one that is about to wait for it; 0 when that cannot be told. Changes errno.
uint32_t HolderOfGil(uintptr_t condition);

}  // namespace gprof::tracer
