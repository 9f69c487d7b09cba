// By how much recording slowed the program down, as its own rate of work tells: the calls of one function in windows
// with recording and in those without.
#pragma once

#include <cstdint>

#include "gprof/trace.h"

namespace gprof {

struct MeasuredSlowDown {
  uint32_t process = kNone;                               // the one that was slowed down most
  int64_t windows = 0;                                    // with recording, each compared with its neighbours
  double percent = 0, low_percent = 0, high_percent = 0;  // their median and its 95 % interval
  NameId function;                                        // whose calls were counted, of the last of them
  bool IsKnown() const { return windows > 0; }
};

// Not known where no process has windows enough for an interval.
MeasuredSlowDown MeasureSlowDown(const Trace& trace);

}  // namespace gprof
