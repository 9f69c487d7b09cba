#pragma once

#include <string>

#include "gprof/trace.h"

namespace gprof {

// Throws Error for a partial: `what`, as in "a selection", needs the records of the trace. `instead`: what there is of
// a partial, said after the advice to use the trace.
void RequireRecords(const Trace& trace, const char* what, const std::string& instead = "");

}  // namespace gprof
