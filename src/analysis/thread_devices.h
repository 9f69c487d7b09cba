// Which GPU a thread works with.
#pragma once

#include <cstdint>
#include <vector>

#include "gprof/trace.h"

namespace gprof {

// By thread: the device on which it launched most GPU time. A thread that launched nothing has the device that its
// process launched most on, and kNone where the process used none.
std::vector<uint32_t> DevicesOfThreads(const Trace& trace);

}  // namespace gprof
