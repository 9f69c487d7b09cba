// Programs that an interpreter runs, such as Python's.
#pragma once

#include <cstdint>

#include "gprof/trace.h"

namespace gprof {

// Of the process, as its command says; true where nobody knows.
bool IsInterpreted(const Trace& trace, uint32_t process);
// Of any process.
bool IsAnyInterpreted(const Trace& trace);

}  // namespace gprof
