// What is kept of a launch that was measured: its facts, under the names that Nsight Compute has for them, and its
// counters.
#pragma once

#include <cstdint>

#include "tracer/counters/profiler/range_session.h"
#include "tracer/counters/request/launch_filter.h"

#ifdef GPROF_HAS_RANGE_PROFILER
namespace gprof::tracer {

struct MeasuredLaunch {
  LaunchedKernel kernel;
  uint32_t number = 0, correlation = 0;
  uint64_t start_ns = 0, end_ns = 0;
  uint64_t memory_bytes = 0;  // of the GPU, in use when it was launched
  trace::StringId nvtx;       // the ranges that it is in
  bool is_graph = false;      // with all that is in it
};

// What is measured instead of a launch.
struct MeasuredSpan {
  trace::StringId name, nvtx;
  uint64_t start_ns = 0, end_ns = 0;
};

// Hands a measured launch on. `range`: which of the session it is, negative where that is not known.
void KeepLaunch(const RangeSession& session, const MeasuredLaunch& launch, int64_t range);
// The same of all that ran meanwhile.
void KeepOneRange(const RangeSession& session, const MeasuredSpan& span);

}  // namespace gprof::tracer
#endif
