// Contexts that were there before the tracer was: CUPTI tells of a context when it is made, and never again. They are
// found at the calls that are made in them.
#pragma once

#include <cupti.h>

#include "tracer/store/chunk_output.h"

namespace gprof::tracer {

// Whether there may be any. Set before callbacks are enabled.
extern bool looks_for_contexts;

// [any thread, in a callback]
void FindContext(CUcontext context);
// [writer thread]
void TellFoundContexts(ChunkOutput* output);

}  // namespace gprof::tracer
