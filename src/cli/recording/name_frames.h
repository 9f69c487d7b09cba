// What is done with a trace when its recording has ended: functions on call stacks get their names.
#pragma once

#include "launch/run/launch.h"

namespace gprof::cli {

// Processes know where their functions are, and not what they are called. What cannot be named now, `symbolize` can.
void NameFrames(const FinishedTrace& trace, bool is_quiet);

}  // namespace gprof::cli
