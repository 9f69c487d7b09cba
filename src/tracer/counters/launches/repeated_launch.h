// A launch that we run again for each pass, with memory restored and L2 flushed in between. libcupti before 13.4 lets
// nothing run between the passes of its own kernel replay, which leaves L2 full of dirty lines and of the kernel's
// data.
#pragma once

#include "tracer/counters/launches/launch_calls.h"
#include "tracer/counters/profiler/range_session.h"

#ifdef GPROF_HAS_RANGE_PROFILER
namespace gprof::tracer {

// All of it with the gate closed, and the context current.

// Whether memory can be saved and restored, which is tried once for each session. If not, the session is left to the
// replay of libcupti.
bool CanRepeat(RangeSession* session);
// Makes all passes but the last one, which the call of the program makes. False: the launch is not measured, and memory
// is as it was.
bool BeginRepeated(RangeSession* session, const LaunchCall& call, const CUpti_CallbackData* info, const char* name);
// The call has returned, and its kernel has ended.
void EndRepeated();

}  // namespace gprof::tracer
#endif
