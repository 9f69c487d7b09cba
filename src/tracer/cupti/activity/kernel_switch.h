// Kernels are recorded or not. When their kind is disabled or enabled as a whole while a thread launches, libcupti 13.0
// records no kernel of that thread any more (measured: docs/tracer.md). So it is enabled once, and switched in
// each context when captures end and begin.
#pragma once

#include <cupti.h>

namespace gprof::tracer {

// [one thread at a time]
CUptiResult RecordKernels();
CUptiResult PauseKernels();
// Leaves CUPTI as it was before the first of them, for a guest.
CUptiResult ReleaseKernels();

// What the resource callbacks say of a context. One that is made in a pause records until the next. [any thread]
void KnowContext(CUcontext context);
void LeaveContext(CUcontext context);
// A session begins: nothing is known of contexts.
void ForgetKnownContexts();

}  // namespace gprof::tracer
