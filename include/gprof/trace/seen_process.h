// Processes of a run that the tracer did not come into.
//
// When the recording is over, a collector adds a process, a thread and an end record for each: chunks of that process,
// as the tracer would have written them, with this image in their key. Records of collectors find it by its pid.
#pragma once

#include <cstdint>

namespace gprof::trace {

// No tracer counts so far.
inline constexpr uint32_t kSeenImage = 0xffff;

}  // namespace gprof::trace
