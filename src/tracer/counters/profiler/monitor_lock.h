// The performance monitors of a GPU have one owner at a time: the process that measured on it first, until it ends.
// libcupti 13.0 does not let go of them before, and answers 26 to others, which cannot try again. So processes of one
// run wait for each other: a page of the run's folder says whose turn it is.
#pragma once

#include <cstdint>

namespace gprof::tracer {

// Waits until the process of the run that measures on the device has ended, 30 s at most. True where there is no run
// folder, and when it is our turn from here on. [with the gate closed]
bool TakeMonitors(uint32_t device);

}  // namespace gprof::tracer
