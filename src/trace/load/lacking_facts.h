// What a trace of our own tracer does not tell.
#pragma once

#include "gprof/trace.h"

namespace gprof {

// By what was asked to be recorded, where the trace says it, and by what there is.
FactSet LackingFactsOf(const Trace& trace);

}  // namespace gprof
