// Ranges of the run, or all of it, measured instead of launches: while a capture is on and, with NVTX filters, while a
// thread is where one of them looks.
#pragma once

#include "tracer/counters/profiler/range_session.h"

#ifdef GPROF_HAS_RANGE_PROFILER
namespace gprof::tracer {

bool MeasuresRanges();
// Where ranges are measured. [starting thread]
void StartRanges();
void SwitchRanges(bool is_capturing);
// A context comes in the midst of a range, or goes. [with the lock]
void JoinRange(RangeSession* session);
void EndRange(RangeSession* session);
// The program is about to end. It takes the lock.
void EndRanges();
void ForgetOpenRangeAfterFork();

}  // namespace gprof::tracer
#endif
