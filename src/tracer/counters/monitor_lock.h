// The performance monitors of a GPU have one owner at a time. Processes of one run take turns: a page of the run's
// folder says whose turn it is.
#pragma once

#include <cstdint>

namespace gprof::tracer {

// Waits until no other process of the run measures on the device, so long at most. True where there is no run folder,
// and when it is our turn. [with the gate closed]
bool TakeMonitors(uint32_t device, uint64_t patience_ns);
void GiveMonitorsBack(uint32_t device);

}  // namespace gprof::tracer
