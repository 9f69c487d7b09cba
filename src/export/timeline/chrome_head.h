// What stands before the events of a Chrome trace.
#pragma once

#include <cstdint>
#include <string>

#include "gprof/trace.h"

namespace gprof {

// `base_ns`: the time that those of the events count from, 0 when it is not known.
std::string ChromeHead(const Trace& trace, int64_t base_ns);

}  // namespace gprof
