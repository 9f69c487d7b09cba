// Several traces as one: those of the ranks of one run, so that every analysis works on the run as on one trace.
#pragma once

#include <cstdint>
#include <vector>

#include "gprof/trace.h"

namespace gprof {

// What is added to the times of a trace to bring them to the clock of the first.
struct ClockShift {
  int64_t ns = 0;
  bool is_known = true;  // false: the clocks cannot be compared, so that the traces are taken to begin together
};

// One for each trace. Traces of one host share a clock when their clock records agree within a second (if not, it was
// started anew in between); those of other hosts are compared by the time of day in their clock records. The host of a
// trace is that of its first process.
std::vector<ClockShift> ClockShifts(const std::vector<Trace>& traces);

// Everything of all traces, on the clock of the first. A GPU that several of them saw (the same UUID, or the same host
// and ordinal where it has none) is one device; the others get ordinals of their own. What is counted in `health` is
// added up. Throws Error where it is more than one trace can hold.
Trace MergeTraces(std::vector<Trace> traces);

}  // namespace gprof
