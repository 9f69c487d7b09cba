// One range of the run, or all of it, measured instead of launches.
#pragma once

#include "tracer/counters/profiler/range_session.h"

#ifdef GPROF_HAS_RANGE_PROFILER
namespace gprof::tracer {

bool MeasuresRanges();
// [with the lock]
void BeginRange(RangeSession* session);
void EndRange(RangeSession* session);
// In all contexts; they take the lock.
void BeginRanges();
void EndRanges();

}  // namespace gprof::tracer
#endif
