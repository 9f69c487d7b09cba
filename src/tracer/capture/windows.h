// Recording in windows: on and off in turns, so that the program's own rate of work says what recording costs, or so
// that a long run stays within a budget. A window with recording is a capture like any other.
#pragma once

#include <cstdint>

namespace gprof::tracer {

// Where windows were asked for, the first one begins. [starting thread, after the collectors have started]
void StartWindows();
// Until something is to be done about windows; for ever where there are none. [writer thread]
uint64_t WindowLeftNs();
void CarryOutWindow();

}  // namespace gprof::tracer
