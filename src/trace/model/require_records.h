#pragma once

#include "gprof/trace.h"

namespace gprof {

// Throws Error for a partial: `what`, as in "a selection", needs the records of the trace.
void RequireRecords(const Trace& trace, const char* what);

}  // namespace gprof
